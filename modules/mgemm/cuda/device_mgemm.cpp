// mgemm and cleaver on the device: operands in its memory, or staged through it.
#include "core/backend/cuda/cuda_backend.h"
#include "core/dense/cuda/cublas.h"
#include "core/dense/cuda/panel_pipeline.h"
#include "core/dense/cuda/strip_pipeline.h"
#include "core/error.h"
#include "modules/mgemm/cuda/device_product.h"
#include "modules/mgemm/cutoffs.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/device_choice.h"
#include "modules/mgemm/host_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::mgemm {
namespace {

ProductShape shape_of(const Operands<double>& o) { return {o.m(), o.n(), o.k()}; }

/// Nothing is multiplied.
MgemmReport scale_on_device(const Operands<double>& o) {
  if (o.c.rows > 0 && o.c.cols > 0 && o.beta != 1) merge_and_multiply_right(0, {}, {}, 0, {}, o.beta, o.c);
  MgemmReport report;
  report.reason = "there is nothing to multiply";
  return report;
}

bool is_too_small(const ProductShape& s, const MgemmOptions& options, MgemmReport& report) {
  const double size = double(s.m) * double(s.n) * double(s.k), least = options.device_cost.smallest_product;
  if (options.always_split || size >= least) return false;
  report.reason = fmt::format("m n k = {:.3g} is below {:.3g}: too small to split", size, least);
  report.bound = report.probable_bound = std::numeric_limits<double>::infinity();
  return true;
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
    if (look(report)) analyse(report);
    if (report.form == MgemmForm::split) multiply(report);
    if (report.form == MgemmForm::plain_double) {
      a_.reset();
      b_.reset();
      dense_product_on_device(o_.alpha, o_.a, o_.b, o_.beta, o_.c);
    }
    return report;
  }

 private:
  /// A look at a few elements: where cutoffs begin, and whether an analysis is worth its while.
  bool look(MgemmReport& report) {
    if (!cutoff_.automatic) smallest_ = cutoff_.delta;
    if (!cutoff_.automatic && options_.always_split) return true;
    const std::vector<MagnitudeSample> samples = DeviceFactor::samples({&*a_, &*b_});
    const MagnitudeSample &a = samples[0], &b = samples[1];
    if (cutoff_.automatic) smallest_ = smallest_cutoff(a.quantile(cutoff_quantile), b.quantile(cutoff_quantile));
    if (options_.always_split || !a.finite() || !b.finite()) return true;
    std::vector<double> deltas{smallest_};
    if (cutoff_.automatic) deltas = rising_cutoffs(smallest_, std::max(a.largest(), b.largest()));
    const DeviceChoice choice =
        choose_on_device(shape_, a.profile(deltas), b.profile(deltas), Known::sampled, cutoff_, options_);
    if (choice.split) return true;
    report.expected_speedup = choice.expected_speedup;
    report.reason = "by a sample of the elements: " + choice.reason;
    report.bound = report.probable_bound = std::numeric_limits<double>::infinity();
    return false;
  }

  void analyse(MgemmReport& report) {
    const double delta = smallest_;
    a_->analyse(delta);
    b_->analyse(delta);
    a_->check_finite(o_.swapped ? "B" : "A", order_);
    b_->check_finite(o_.swapped ? "A" : "B", order_);
    std::vector<double> deltas{delta};
    const auto few = [](DeviceFactor& f) {
      return double(f.totals().large) <= most_listed * double(f.lines()) * double(f.length()) + 1;
    };
    if (cutoff_.automatic && few(*a_) && few(*b_)) {
      deltas = rising_cutoffs(delta, std::max(a_->max_abs(), b_->max_abs()));
      if (deltas.size() > 1) {
        a_->list_large();
        b_->list_large();
      }
    }
    const FactorProfile a = a_->profile(deltas), b = b_->profile(deltas);
    const DeviceChoice choice = choose_on_device(shape_, a, b, Known::analysed, cutoff_, options_);
    describe(choice, a, b, shape_, o_.swapped, report);
    plain_bound_ = double_error_bound(shape_.k, a.max_abs, b.max_abs);
    if (choice.split && report.delta != delta) {
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
      report.form = MgemmForm::plain_double;
      report.bound = report.probable_bound = plain_bound_;
      report.reason =
          fmt::format("parts and lists of large elements do not fit {} bytes of the device's memory", budget);
      return;
    }
    report.panel_bytes = split_bytes({plan->rows(), plan->columns(), plan->depth()}, report.large_elements, form);
    const DeviceSplit split{report.small_form, report.delta, report.depth};
    DevicePanels panels;
    for (std::int64_t number = 0; number < plan->steps(); ++number) {
      const PanelStep s = plan->step(number);
      multiply_split_panels(split, o_.alpha, o_.a.block(s.row, s.depth, s.rows, s.depths), s.load_a,
                            o_.b.block(s.depth, s.column, s.depths, s.columns), s.load_b, s.begins_c ? o_.beta : 1.0,
                            o_.c.block(s.row, s.column, s.rows, s.columns), panels);
    }
  }

  const Operands<double>& o_;
  Order order_;
  const Cutoff& cutoff_;
  const MgemmOptions& options_;
  ProductShape shape_;
  std::optional<DeviceFactor> a_, b_;
  double smallest_ = 0;  ///< cutoff
  double plain_bound_ = 0;
};

MgemmReport multiply_on_device(const Operands<double>& o, Order order, const Cutoff& cutoff,
                               const MgemmOptions& options) {
  MgemmReport report;
  if (is_too_small(shape_of(o), options, report)) {
    dense_product_on_device(o.alpha, o.a, o.b, o.beta, o.c);
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
  const double max_a = o.swapped ? most.b : most.a, max_b = o.swapped ? most.a : most.b;
  const double delta =
      cutoff.automatic ? smallest_cutoff(sampled_quantile(o.a, cutoff_quantile), sampled_quantile(o.b, cutoff_quantile))
                       : cutoff.delta;
  std::vector<double> deltas{delta};
  if (cutoff.automatic) deltas = rising_cutoffs(delta, std::max(max_a, max_b));
  const FactorProfile a = profile_on_host(o.a, max_a, deltas, most_listed);
  FactorProfile b = profile_on_host(o.b.transposed(), max_b, deltas, most_listed);
  FactorProfile same = a;
  same.deltas.resize(std::min(a.deltas.size(), b.deltas.size()));
  b.deltas.resize(same.deltas.size());
  const DeviceChoice choice = choose_on_device(shape, same, b, Known::analysed, cutoff, options);
  MgemmReport report;
  describe(choice, same, b, shape, o.swapped, report);
  if (report.form == MgemmForm::split) {
    const FormTraits& form = traits_of(report.small_form);
    const std::int64_t rest = split_bytes({0, 0, std::min(shape.k, large_slab)}, report.large_elements, form);
    const PanelMemory memory = staged_split_memory(form, budget - rest);
    std::optional<PanelPlan> plan;
    if (memory.cap >= budget / 2) plan = find_panels(shape, memory, o.beta != 0);
    if (plan) {
      report.panel_bytes = plan->bytes(memory) + rest;
      const DeviceSplit split{report.small_form, report.delta, report.depth};
      DevicePanels panels;
      cuda::PanelPipeline<double>(o.a, o.b, o.beta, o.c, *plan, memory)
          .run([&](const PanelStep& s, DenseView<const double> pa, DenseView<const double> pb, double beta,
                   DenseView<double> pc) {
            multiply_split_panels(split, o.alpha, pa, s.load_a, pb, s.load_b, beta, pc, panels);
          });
      return report;
    }
    report.form = MgemmForm::plain_double;
    report.bound = report.probable_bound = double_error_bound(shape.k, max_a, max_b);
    report.reason = fmt::format("parts and lists of large elements do not fit {} bytes of the device's memory", budget);
  }
  report.panel_bytes = multiply_panels_on_device(o, options.memory_cap).panel_bytes;
  return report;
}

void check_prepared(const FactorRange& range, Side side, const char* name) {
  const auto refuse = [&](const std::string& what) { throw Error(ErrorCode::invalid_input, name + what); };
  if (range.factor == nullptr) refuse(": there is no factor");
  if (range.factor->body().side != side) refuse(": the factor was prepared for the other side of a product");
  if (range.first < 0 || range.count < 0 || range.first + range.count > range.factor->lines()) {
    refuse(fmt::format(": lines [{}, {}) of a factor that has {}", range.first, range.first + range.count,
                       range.factor->lines()));
  }
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
  MgemmReport report;
  if (is_too_small(s, here, report)) {
    report.bound = report.probable_bound = double_error_bound(s.k, most.a, most.b);
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

PreparedFactor::PreparedFactor(DenseView<const double> matrix, Side side, double delta, SmallForm form)
    : body_(std::make_unique<Body>(matrix, side)) {
  if (!(delta >= 0)) throw Error(ErrorCode::invalid_input, fmt::format("delta = {}: it must be 0 or more", delta));
  if (form == SmallForm::automatic) throw Error(ErrorCode::invalid_input, "a prepared factor needs a form by name");
  if (matrix.rows < 1 || matrix.cols < 1) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("a prepared factor must have elements, is {} x {}", matrix.rows, matrix.cols));
  }
  body_->factor.analyse(delta);
  body_->factor.check_finite(side == Side::left ? "the left factor" : "the right factor",
                             matrix.by_rows ? Order::rows : Order::columns);
  body_->factor.convert(traits_of(form));
}

PreparedFactor::~PreparedFactor() = default;
PreparedFactor::PreparedFactor(PreparedFactor&&) noexcept = default;
PreparedFactor& PreparedFactor::operator=(PreparedFactor&&) noexcept = default;
std::int64_t PreparedFactor::lines() const { return body_->factor.lines(); }
std::int64_t PreparedFactor::large_elements() const { return body_->factor.large_elements(); }

void multiply_prepared(double alpha, const FactorRange& a, const FactorRange& b, double beta, DenseView<double> c,
                       std::int64_t depth) {
  check_prepared(a, Side::left, "A");
  check_prepared(b, Side::right, "B");
  const DeviceFactor &of_a = a.factor->body().factor, &of_b = b.factor->body().factor;
  const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_input, message); };
  if (of_a.form().form != of_b.form().form) refuse("A and B were prepared in different forms");
  if (of_a.length() != of_b.length()) {
    refuse(fmt::format("the lines of A have {} elements, those of B {}", of_a.length(), of_b.length()));
  }
  if (c.rows != a.count || c.cols != b.count || c.by_rows || c.ld < c.rows) {
    refuse(fmt::format("C must be stored by columns, {} x {}", a.count, b.count));
  }
  if (depth < 0) refuse(fmt::format("depth = {}: it must be 0 or more", depth));
  if (c.rows == 0 || c.cols == 0) return;
  multiply_converted(alpha, {&of_a, a.first, a.count}, {&of_b, b.first, b.count}, beta, c,
                     depth > 0 ? depth : usual_depth(of_a.form()));
}

}  // namespace quadrille::mgemm
