#include "modules/ri_mp2/cuda/device_step4.h"

#include "core/backend/cuda/cuda_backend.h"
#include "modules/mgemm/choice/form_bound.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/ri_mp2/cuda/arrays.h"
#include "modules/ri_mp2/cuda/device_step3.h"
#include "modules/ri_mp2/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

using mgemm::FormTraits;
using mgemm::SmallWay;

/// Terms of energy_sensitivity that the host adds up in a second.
constexpr double sensitivity_terms = 1e10;

std::vector<double> squares_on_device(const System& system, const double* b) {
  const auto squares = array<double>(system.pairs(), "the norms of the rows of B");
  square_rows(b, system.pairs(), system.auxiliary, squares.get());
  return cuda::fetched(squares.get(), squares.count());
}

/// The costs and the bounds, wherever B is.
class DeviceCosts : public BatchMultiplier {
 public:
  DeviceCosts(const System& system, const Options& options, std::int64_t batch)
      : system_(system),
        options_(options),
        cutoff_(options.products.cutoff),
        rows_(batch * system.virtuals),
        batches_(std::max(1.0, double(system.occupied) / double(batch))) {
    product_.shape = {rows_, rows_, system.auxiliary};
  }

  std::string too_small() const override {
    return mgemm::too_small(product_.shape, cost_.smallest_product, mgemm_options(options_));
  }

  std::vector<std::vector<SmallWay>> ways() const override {
    std::vector<std::vector<SmallWay>> all;
    for (const FormTraits& form : mgemm::all_forms()) {
      if (options_.small_form != mgemm::SmallForm::automatic && options_.small_form != form.form) continue;
      std::vector<SmallWay>& of_form = all.emplace_back();
      for (const std::int64_t depth : useful_depths(form, system_.auxiliary)) of_form.push_back({&form, depth});
    }
    return all;
  }

  mgemm::ErrorBound bound(const SmallWay& way, std::size_t cutoff) const override {
    return mgemm::form_error_bound(product_, cutoff, *way.form, way.depth);
  }

  double plain() const override { return products() * cost_.plain(product_.shape); }
  double split(const SmallWay& way, const mgemm::LargeCounts& large) const override {
    const auto of_batch = std::int64_t(double(large.a) / batches_);
    const double conversion = cost_.conversion(product_.shape, *way.form);
    const double each = cost_.split(product_.shape, {of_batch, of_batch}, *way.form, way.depth) - conversion;
    // Conversion and analysis of the two factors of a batch are shared by all its products.
    const double once = cost_.analysis(product_.shape) + conversion;
    return products() * each + batches_ * once + cost_of_sample(*way.form);
  }

 protected:
  const System& system_;
  const Options& options_;
  const mgemm::Cutoff& cutoff_;
  std::int64_t rows_;
  mgemm::AnalysedProduct product_;  ///< of the shape of a product of batches

 private:
  double products() const { return batches_ * (batches_ + 1) / 2; }

  /// What DeviceEnergySample takes at least: two products of its rows in double, and one trial. Or energy_sensitivity.
  double cost_of_sample(const FormTraits& form) const {
    if (!cutoff_.automatic) return 0;
    const double pairs = double(system_.pairs());
    if (cutoff_.assurance == mgemm::Assurance::certain) return pairs * pairs / sensitivity_terms;
    const double numbers = double(system_.pairs()) * double(system_.auxiliary);
    const double flops = 2 * double(SampledEnergyError::rows) * numbers;
    return 2 * flops / cost_.double_flops + form.products() * flops / cost_.flops_of(form.form) +
           (3 * 8 + 2 * form.bytes * form.parts) * numbers / cost_.bytes + 2 * cost_.wait;
  }

  double batches_;
  mgemm::DeviceCostModel cost_;
};

class Device final : public DeviceCosts {
 public:
  Device(const System& system, const double* b, const Options& options, std::int64_t batch)
      : DeviceCosts(system, options, batch), b_(b) {}

  const mgemm::AnalysedProduct& analysed() override {
    if (!product_.a.deltas.empty()) return product_;
    mgemm::DeviceFactor factor({b_, system_.pairs(), system_.auxiliary, system_.auxiliary, true}, mgemm::Side::left);
    const double quantile =
        cutoff_.automatic ? mgemm::DeviceFactor::samples({&factor})[0].quantile(mgemm::cutoff_quantile) : 0;
    factor.analyse(mgemm::cutoffs_of(cutoff_, quantile, 0).front());
    factor.check_finite("B", mgemm::Order::rows);
    const std::vector<double> deltas = mgemm::cutoffs_of(cutoff_, quantile, factor.max_abs());
    product_.a = product_.b = mgemm::DeviceFactor::profiles({&factor}, deltas)[0];
    return product_;
  }

  /// The parts of B for both sides, the lists of large elements and what a product takes.
  std::int64_t bytes(const SmallWay& way, std::int64_t large) const override {
    const std::int64_t factors =
        2 * mgemm::DeviceFactor::bytes(system_.pairs(), system_.auxiliary, *way.form) + 24 * large;
    const std::int64_t sample = cutoff_.automatic && !sample_ ? 3 * 8 * SampledEnergyError::rows * system_.pairs() : 0;
    const std::int64_t product = mgemm::multiply_bytes(rows_, rows_, system_.auxiliary) + 8 * rows_ * rows_;
    return factors + std::max(product, sample);
  }
  std::int64_t free_bytes() const override { return mgemm::device_budget(0); }

  std::vector<double> squares_of_rows() override { return squares_on_device(system_, b_); }

  double take_sample(const std::vector<double>& squares, const std::vector<double>* root) override {
    return sample_.emplace(system_, b_, squares, analysed().a.max_abs, root).error_of_step3();
  }

  SampledErrors errors(const SmallWay& way, double delta) override {
    return sample_->errors(way.form->form, delta, way.depth);
  }

 private:
  const double* b_;
  std::optional<DeviceEnergySample> sample_;
};

/// Of a B in the host's memory, blocks of which pass through the device.
class DeviceOfOrbitals final : public DeviceCosts {
 public:
  DeviceOfOrbitals(const System& system, const EachOrbital& b, const Options& options, std::int64_t batch,
                   std::int64_t cap)
      : DeviceCosts(system, options, batch), b_(b), cap_(cap) {}

  const mgemm::AnalysedProduct& analysed() override {
    if (product_.a.deltas.empty()) {
      analysis_ = analyse_orbitals(system_, b_, cutoff_);
      product_.a = product_.b = analysis_.profile;
    }
    return product_;
  }

  /// With as many large elements in each orbital as there are on average.
  std::int64_t bytes(const SmallWay& way, std::int64_t large) const override {
    return split_stream_costs(system_, *way.form, large / system_.occupied + 1, 1).smallest();
  }
  std::int64_t free_bytes() const override { return cap_; }

  std::vector<double> squares_of_rows() override { return squares_of_orbitals(b_); }
  double take_sample(const std::vector<double>&, const std::vector<double>*) override { no_sample(); }
  SampledErrors errors(const SmallWay&, double) override { no_sample(); }

  std::int64_t most_above(double delta) const { return analysis_.most_above(delta); }

 private:
  const EachOrbital& b_;
  std::int64_t cap_;
  OrbitalAnalysis analysis_;
};

}  // namespace

SplitChoice choose_split_on_device(const System& system, const std::vector<double>& root, const double* b,
                                   const Step3Errors& errors, const Options& options, std::int64_t batch) {
  Device device(system, b, options, batch);
  return choose_split(system, root, errors, options, device);
}

StreamedSplit choose_split_of_orbitals_there(const System& system, const std::vector<double>& root,
                                             const EachOrbital& b, const Step3Errors& errors, const Options& options,
                                             std::int64_t batch, std::int64_t cap) {
  DeviceOfOrbitals device(system, b, options, batch, cap);
  const SplitChoice choice = choose_split(system, root, errors, options, device);
  return {choice, choice.split ? device.most_above(choice.delta) : 0};
}

StreamCosts split_stream_costs(const System& system, const FormTraits& form, std::int64_t large, std::int64_t batch) {
  const std::int64_t v = system.virtuals, n = system.auxiliary, none = mgemm::DeviceFactor::bytes(0, n, form);
  const std::int64_t exact = 8 * v * n, parts = mgemm::DeviceFactor::bytes(v, n, form) - none + 12 * large;
  return {exact + parts, 2 * exact + parts, 8 * v * v,
          2 * none + mgemm::multiply_bytes(batch * v, batch * v, n) + stream_reserve};
}

DeviceEnergySample::DeviceEnergySample(const System& system, const double* b, const std::vector<double>& squares,
                                       double max_abs, const std::vector<double>* root)
    : system_(system),
      b_(b),
      rows_(draw_rows(system, squares, SampledEnergyError::rows)),
      has_step3_errors_(root != nullptr) {
  const std::int64_t pairs = system.pairs(), count = std::int64_t(rows_.size());
  const char* what = "a sample of the integrals";
  std::vector<double> gaps(static_cast<std::size_t>(pairs)), gaps_of_rows;
  for (std::int64_t ia = 0; ia < pairs; ++ia) gaps[std::size_t(ia)] = gap(system, ia);
  for (const SampledRow& row : rows_) gaps_of_rows.push_back(gap(system, row.pair));
  gaps_ = sent(gaps, what);
  gaps_of_rows_ = sent(gaps_of_rows, what);
  sample_ = array<double>((count + 1) * system.auxiliary, what);
  exact_ = array<double>(count * pairs, what);
  derivatives_ = array<double>(count * pairs, what);
  mixed_ = array<double>(count * pairs, what);
  moved_ = array<MovedEnergy>(count, what);
  gather(max_abs);
  multiply_given(has_step3_errors_ ? mixed_.get() : exact_.get());
  if (has_step3_errors_) count_step3(*root);
}

/// The last line has the largest magnitude of B and is multiplied with nothing: it gives the sample the scale of B.
void DeviceEnergySample::gather(double max_abs) {
  const std::int64_t n = system_.auxiliary, count = std::int64_t(rows_.size());
  for (std::int64_t r = 0; r < count; ++r) {
    QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(sample_.get() + r * n, b_ + rows_[std::size_t(r)].pair * n,
                                         std::size_t(n) * sizeof(double), cudaMemcpyDeviceToDevice, cuda::stream()));
  }
  std::vector<double> scale(static_cast<std::size_t>(n));
  scale[0] = max_abs;
  cuda_backend().copy_in(sample_.get() + count * n, scale.data(), scale.size() * sizeof(double));
}

void DeviceEnergySample::multiply_given(double* products) {
  const std::int64_t pairs = system_.pairs(), n = system_.auxiliary, v = system_.virtuals;
  const std::int64_t count = std::int64_t(rows_.size());
  // By columns: (B B_r^T)[jb, r].
  mgemm::dense_product_on_device<double>(1, {b_, pairs, n, n, true}, {sample_.get(), n, count, n, false}, 0,
                                         {products, pairs, count, pairs, false});
  for (std::int64_t r = 0; r < count; ++r) {
    // (ib|ja) for all b and j: rows ib of B with rows ja.
    const std::int64_t i = rows_[std::size_t(r)].pair / v, a = rows_[std::size_t(r)].pair % v;
    mgemm::dense_product_on_device<double>(1, {b_ + i * v * n, v, n, n, true},
                                           {b_ + a * n, n, system_.occupied, v * n, false}, 0,
                                           {derivatives_.get() + r * pairs, v, system_.occupied, v, false});
  }
  make_derivatives(rows_there(), products, derivatives_.get());
}

cuda::DeviceArray<double> DeviceEnergySample::turned_rows(const std::vector<double>& root) const {
  const std::int64_t n = system_.auxiliary, count = std::int64_t(rows_.size());
  const char* what = "a sample of (ia|P)";
  auto turned = sent(sampled_rows(system_.ia_p, n, rows_), what);
  const auto root_there = sent(root, "(P|Q)^-1/2"), exact_b = array<double>(count * n, what);
  // By columns: B_r = (ia|P)_r root, and the root times these.
  mgemm::dense_product_on_device<double>(1, {root_there.get(), n, n, n, false}, {turned.get(), n, count, n, false}, 0,
                                         {exact_b.get(), n, count, n, false});
  mgemm::dense_product_on_device<double>(1, {root_there.get(), n, n, n, true}, {exact_b.get(), n, count, n, false}, 0,
                                         {turned.get(), n, count, n, false});
  return turned;
}

void DeviceEnergySample::count_step3(const std::vector<double>& root) {
  const std::int64_t pairs = system_.pairs(), n = system_.auxiliary, count = std::int64_t(rows_.size());
  const auto turned = turned_rows(root);
  for_each_panel(system_, [&](const double* panel, std::int64_t first, std::int64_t rows) {
    mgemm::dense_product_on_device<double>(1, {panel, rows, n, n, true}, {turned.get(), n, count, n, false}, 0,
                                           {exact_.get() + first, rows, count, pairs, false});
  });
  error_of_step3_ = errors_of_mixed(true).energy;
}

SampledErrors DeviceEnergySample::errors_of_mixed(bool biased) {
  sum_errors(rows_there(), mixed_.get(), exact_.get(), derivatives_.get(), moved_.get());
  return sampled_errors(rows_, cuda::fetched(moved_.get(), moved_.count()), biased);
}

DeviceRows DeviceEnergySample::rows_there() const {
  return {gaps_.get(), gaps_of_rows_.get(), system_.pairs(), unsigned(rows_.size())};
}

SampledErrors DeviceEnergySample::errors(mgemm::SmallForm form, double delta, std::int64_t depth) {
  const std::int64_t pairs = system_.pairs(), n = system_.auxiliary, count = std::int64_t(rows_.size());
  if (!factors_ || form != form_ || delta != delta_) {
    factors_.reset();  // its memory is needed
    const DenseView<const double> all{b_, pairs, n, n, true}, some{sample_.get(), n, count + 1, n, false};
    factors_.emplace(mgemm::traits_of(form), delta).load(&all, &some);
    form_ = form;
    delta_ = delta;
  }
  mgemm::multiply_converted(1, {&factors_->a(), 0, pairs}, {&factors_->b(), 0, count}, 0,
                            {mixed_.get(), pairs, count, pairs, false}, depth);
  return errors_of_mixed(has_step3_errors_ || mgemm::traits_of(form).truncates);
}

}  // namespace quadrille::ri_mp2
