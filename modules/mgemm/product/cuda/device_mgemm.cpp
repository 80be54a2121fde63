// mgemm and cleaver on the device: operands in its memory, or staged through it.
#include "core/backend/cuda/cuda_backend.h"
#include "core/error.h"
#include "modules/mgemm/choice/device_choice.h"
#include "modules/mgemm/choice/host_choice.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/shared/dense/cuda/cublas.h"
#include "modules/shared/dense/cuda/panel_pipeline.h"
#include "modules/shared/dense/cuda/strip_pipeline.h"
#include "modules/shared/dense/magnitude_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::mgemm {
namespace {

ProductShape shape_of(const Operands<double>& o) { return {o.m(), o.n(), o.k()}; }

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string no_room(std::int64_t budget) {
  return fmt::format("parts and lists of large elements do not fit into {} bytes of the device's memory", budget);
}

/// A step of a split product in panels, which are on the device.
void multiply_step(SplitFactors& factors, double alpha, const PanelStep& step, const DenseView<const double>& a,
                   const DenseView<const double>& b, double beta, const DenseView<double>& c, std::int64_t depth) {
  factors.load(step.load_a ? &a : nullptr, step.load_b ? &b : nullptr);
  multiply_converted(alpha, {&factors.a(), 0, c.rows}, {&factors.b(), 0, c.cols}, beta, c, depth);
}

/// Nothing is multiplied.
MgemmReport scale_on_device(const Operands<double>& o) {
  if (o.c.rows > 0 && o.c.cols > 0 && o.beta != 1) merge_and_multiply_right(0, {}, {}, 0, {}, o.beta, o.c);
  MgemmReport report;
  report.reason = "there is nothing to multiply";
  return report;
}

/// The factors of one product, both on the device and whole.
class DeviceSplitProduct {
 public:
  DeviceSplitProduct(const Operands<double>& o, Order order, const Cutoff& cutoff, const MgemmOptions& options)
      : o_(o),
        order_(order),
        cutoff_(cutoff),
        options_(options),
        shape_(shape_of(o)),
        a_(std::in_place, o.a, Side::left),
        b_(std::in_place, o.b, Side::right) {}

  MgemmReport run() {
    MgemmReport report;
    if (sample(report)) analyse(report);
    if (report.form == MgemmForm::split) multiply(report);
    if (report.form == MgemmForm::plain_double) {
      a_.reset();
      b_.reset();
      dense_product_on_device(o_.alpha, o_.a, o_.b, o_.beta, o_.c);
    }
    return report;
  }

 private:
  /// Samples the elements: where cutoffs begin, and whether an analysis can pay.
  bool sample(MgemmReport& report) {
    if (!cutoff_.automatic && options_.always_split) return true;
    const std::vector<MagnitudeSample> samples = DeviceFactor::samples({&*a_, &*b_});
    const MagnitudeSample &a = samples[0], &b = samples[1];
    if (cutoff_.automatic) quantile_ = std::max(a.quantile(cutoff_quantile), b.quantile(cutoff_quantile));
    if (options_.always_split || !a.finite() || !b.finite()) return true;
    const std::vector<double> deltas = cutoffs_of(cutoff_, quantile_, std::max(a.largest(), b.largest()));
    const MgemmReport found =
        choose_on_device({shape_, a.profile(deltas), b.profile(deltas), o_.swapped}, Known::sampled, cutoff_, options_);
    if (found.form == MgemmForm::split) return true;
    report.expected_speedup = found.expected_speedup;
    report_double("by a sample of the elements: " + found.reason, infinity, report);
    return false;
  }

  void analyse(MgemmReport& report) {
    const double delta = cutoffs_of(cutoff_, quantile_, 0).front();
    a_->analyse(delta);
    b_->analyse(delta);
    a_->check_finite(o_.swapped ? "B" : "A", order_);
    b_->check_finite(o_.swapped ? "A" : "B", order_);
    const double largest = std::max(a_->max_abs(), b_->max_abs());
    std::vector<FactorProfile> found = DeviceFactor::profiles({&*a_, &*b_}, cutoffs_of(cutoff_, quantile_, largest));
    report = choose_on_device({shape_, std::move(found[0]), std::move(found[1]), o_.swapped}, Known::analysed, cutoff_,
                              options_);
    plain_bound_ = double_error_bound(shape_.k, a_->max_abs(), b_->max_abs());
    if (report.form == MgemmForm::split && report.delta != delta) {
      a_->analyse(report.delta);
      b_->analyse(report.delta);
    }
  }

  void multiply(MgemmReport& report) {
    const FormTraits& form = traits_of(report.small_form);
    const std::int64_t bytes = split_bytes(shape_, report.large_elements, form);
    // To ask what is free takes as long as a small product.
    constexpr std::int64_t surely_there = std::int64_t(64) << 20;
    const bool whole = options_.memory_cap == 0 && bytes <= surely_there;
    const std::int64_t budget = whole ? bytes : device_budget(options_.memory_cap);
    if (bytes <= budget) {
      a_->convert(form);
      b_->convert(form);
      report.panel_bytes = bytes;
      multiply_converted(o_.alpha, {&*a_, 0, shape_.m}, {&*b_, 0, shape_.n}, o_.beta, o_.c, report.depth);
      return;
    }
    a_.reset();
    b_.reset();
    const std::optional<PanelPlan> plan = plan_device_split(shape_, report.large_elements, form, budget);
    if (!plan) {
      return report_double(no_room(budget), plain_bound_, report);
    }
    report.panel_bytes = split_bytes({plan->rows(), plan->columns(), plan->depth()}, report.large_elements, form);
    SplitFactors factors(form, report.delta);
    for (std::int64_t number = 0; number < plan->steps(); ++number) {
      const PanelStep s = plan->step(number);
      multiply_step(factors, o_.alpha, s, o_.a.block(s.row, s.depth, s.rows, s.depths),
                    o_.b.block(s.depth, s.column, s.depths, s.columns), s.begins_c ? o_.beta : 1.0,
                    o_.c.block(s.row, s.column, s.rows, s.columns), report.depth);
    }
  }

  const Operands<double>& o_;
  Order order_;
  const Cutoff& cutoff_;
  const MgemmOptions& options_;
  ProductShape shape_;
  std::optional<DeviceFactor> a_, b_;
  double quantile_ = 0;  ///< of the magnitudes of both, where a sample was looked at
  double plain_bound_ = 0;
};

MgemmReport multiply_on_device(const Operands<double>& o, Order order, const Cutoff& cutoff,
                               const MgemmOptions& options) {
  const std::string reason = too_small(shape_of(o), options.device_cost.smallest_product, options);
  if (!reason.empty()) {
    dense_product_on_device(o.alpha, o.a, o.b, o.beta, o.c);
    MgemmReport report;
    report_double(reason, infinity, report);
    return report;
  }
  return DeviceSplitProduct(o, order, cutoff, options).run();
}

MgemmOptions for_device(const MgemmOptions& options) {
  MgemmOptions here = options;
  here.backend = &cuda_backend();
  return here;
}

/// A copy of a matrix of the host on the device, without gaps.
class Copied {
 public:
  Copied(std::int64_t numbers) : memory_(numbers, "a matrix of a staged product", memory_advice) {}
  template <class T>
  DenseView<T> like(DenseView<T> m) const {
    return m.packed(static_cast<T*>(memory_.get()));
  }
  double* get() const { return memory_.get(); }

 private:
  cuda::DeviceArray<double> memory_;
};

/// Operands that fit the device as a whole, with what their product takes.
MgemmReport multiply_copied(const Operands<double>& o, Order order, const Cutoff& cutoff, const MgemmOptions& options) {
  const Copied a(o.a.rows * o.a.cols), b(o.b.rows * o.b.cols), c(o.c.rows * o.c.cols);
  cuda::HostLink link;
  const cuda::OwnedEvent event = cuda::make_event();
  cuda::pass(event, cuda::stream(), link.up());  // the memory is there in the order of the backend's stream
  link.send(o.a, a.get());
  link.send(o.b, b.get());
  if (o.beta != 0) link.send(o.c.constant(), c.get());
  cuda::pass(event, link.up(), cuda::stream());
  Operands<double> there = o;
  there.a = a.like(o.a);
  there.b = b.like(o.b);
  there.c = c.like(o.c);
  const MgemmReport report = multiply_on_device(there, order, cutoff, options);
  cuda::pass(event, cuda::stream(), link.down());
  link.receive(static_cast<const double*>(c.get()), o.c);
  link.finish_receiving();
  return report;
}

/// Bytes of panels in double and of what is made of them, for a split product that is staged.
PanelMemory staged_split_memory(const FormTraits& form, std::int64_t cap) {
  PanelMemory memory = cuda::pipeline_memory(cap, int(sizeof(double)));
  // Two panels in double each, and the parts of one.
  memory.a_bytes = memory.b_bytes = int(sizeof(double)) + (padded_part_bytes(form) + 1) / 2;
  memory.c_bytes = int(sizeof(double)) + 9;
  memory.min_k = shortest_split_panel;
  memory.max_k = large_slab;
  return memory;
}

/// Panels of operands that do not fit, each split on the device; the choice is made on the host.
MgemmReport multiply_staged(const Operands<double>& o, const LargestMagnitudes& most, const Cutoff& cutoff,
                            const MgemmOptions& options, std::int64_t budget) {
  const ProductShape shape = shape_of(o);
  MgemmReport report = choose_on_device(analyse_on_host(o, most, cutoff), Known::analysed, cutoff, options);
  if (report.form == MgemmForm::split) {
    const FormTraits& form = traits_of(report.small_form);
    const std::int64_t rest = split_bytes_beside_panels(std::min(shape.k, large_slab), report.large_elements, form);
    const PanelMemory memory = staged_split_memory(form, budget - rest);
    std::optional<PanelPlan> plan;
    if (memory.cap >= budget / 2) plan = find_panels(shape, memory, o.beta != 0);
    if (plan) {
      report.panel_bytes = plan->bytes(memory) + rest;
      SplitFactors factors(form, report.delta);
      cuda::PanelPipeline<double>(o.a, o.b, o.beta, o.c, *plan, memory)
          .run([&](const PanelStep& s, DenseView<const double> pa, DenseView<const double> pb, double beta,
                   DenseView<double> pc) { multiply_step(factors, o.alpha, s, pa, pb, beta, pc, report.depth); });
      return report;
    }
    report_double(no_room(budget), double_error_bound(shape.k, most.a, most.b), report);
  }
  report.panel_bytes = multiply_panels_on_device(o, options.memory_cap).panel_bytes;
  return report;
}

}  // namespace

MgemmReport mgemm_on_device(const Gemm<double>& gemm, const Cutoff& cutoff, const MgemmOptions& options) {
  const MgemmOptions here = for_device(options);
  const Operands<double> operands = check_arguments(gemm);
  check_choices(cutoff, here);
  require_no_sample(cutoff);
  if (!gemm.has_product()) return scale_on_device(operands);
  return multiply_on_device(operands, gemm.order, cutoff, here);
}

MgemmReport mgemm_through_device(const Gemm<double>& gemm, const Cutoff& cutoff, const MgemmOptions& options) {
  const MgemmOptions here = for_device(options);
  const Operands<double> o = check_arguments(gemm);
  const LargestMagnitudes most = check_numbers(gemm);
  if (!gemm.has_product()) {
    if (gemm.m > 0 && gemm.n > 0) scale(o.c, o.beta);
    MgemmReport report;
    report.reason = "there is nothing to multiply";
    return report;
  }
  const ProductShape s = shape_of(o);
  const std::int64_t matrices = 8 * (s.m * s.k + s.k * s.n + s.m * s.n), budget = device_budget(here.memory_cap);
  // With the widest form, and as many large elements as a split is worth its while with.
  const std::int64_t large = std::int64_t(most_listed * double(s.m * s.k + s.k * s.n));
  std::int64_t whole = 0;
  for (const FormTraits& form : all_forms()) whole = std::max(whole, matrices + split_bytes(s, large, form));
  if (whole <= budget) {
    MgemmOptions rest = here;
    if (rest.memory_cap > 0) rest.memory_cap = budget - matrices;
    MgemmReport report = multiply_copied(o, gemm.order, cutoff, rest);
    if (!report.analysed) report.bound = report.probable_bound = double_error_bound(s.k, most.a, most.b);
    report.panel_bytes += matrices;
    return report;
  }
  const std::string reason = too_small(s, here.device_cost.smallest_product, here);
  if (!reason.empty()) {
    MgemmReport report;
    report_double(reason, double_error_bound(s.k, most.a, most.b), report);
    report.panel_bytes = multiply_panels_on_device(o, here.memory_cap).panel_bytes;
    return report;
  }
  return multiply_staged(o, most, cutoff, here, budget);
}

/// Strips, where C does not stay as a whole and strips take the link for less time than panels do.
template <class T>
std::optional<StripPlan> better_strips(const Operands<T>& o, const PanelPlan& panels, const PanelMemory& memory) {
  if (panels.rows() >= o.m() && panels.columns() >= o.n()) return {};
  const bool read_c = o.beta != T(0);
  std::optional<StripPlan> strips = plan_strips({o.m(), o.n(), o.k()}, memory.cap / std::int64_t(sizeof(T)), read_c);
  if (!strips || double(sizeof(T)) * strips->longest_way(read_c) >= panels.traffic(memory, read_c)) return {};
  if (!cuda::StripPipeline<T>::suits(o.a, o.b, o.c, *strips)) return {};
  return strips;
}

template <class T>
CleaverReport multiply_panels_on_device(const Operands<T>& o, std::int64_t memory_cap) {
  const ProductShape shape{o.m(), o.n(), o.k()};
  PanelMemory memory = cuda::pipeline_memory(device_budget(memory_cap), int(sizeof(T)));
  // Where everything fits, panels are still short enough that the first is multiplied while others travel.
  if (memory_cap == 0) memory.max_k = std::max<std::int64_t>(256, (shape.k + 15) / 16);
  const PanelPlan plan = plan_panels(shape, memory, o.beta != T(0));
  const auto multiply = [&](DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c) {
    dense_product_on_device(o.alpha, a, b, beta, c);
  };
  if (const auto strips = better_strips(o, plan, memory)) {
    const cuda::PipelineTraffic traffic = cuda::StripPipeline<T>(o.a, o.b, o.beta, o.c, *strips).run(multiply);
    return {strips->held() * std::int64_t(sizeof(T)), strips->steps(), traffic.up + traffic.down};
  }
  cuda::use_the_rest(plan, memory);
  cuda::PanelPipeline<T> pipeline(o.a, o.b, o.beta, o.c, plan, memory);
  const cuda::PipelineTraffic traffic = pipeline.run([&](const PanelStep&, DenseView<const T> a, DenseView<const T> b,
                                                         T beta, DenseView<T> c) { multiply(a, b, beta, c); });
  return {plan.bytes(memory), plan.steps(), traffic.up + traffic.down};
}

template CleaverReport multiply_panels_on_device(const Operands<double>&, std::int64_t);
template CleaverReport multiply_panels_on_device(const Operands<float>&, std::int64_t);

}  // namespace quadrille::mgemm
