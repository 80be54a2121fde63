#include "modules/ri_mp2/cuda/device_step4.h"

#include "core/backend/cuda/cuda_backend.h"
#include "modules/mgemm/cuda/device_product.h"
#include "modules/mgemm/cutoffs.h"
#include "modules/ri_mp2/cuda/arrays.h"
#include "modules/ri_mp2/cuda/device_step3.h"
#include "modules/ri_mp2/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

using mgemm::FormTraits;

/// Terms of energy_sensitivity that the host adds up in a second.
constexpr double sensitivity_terms = 1e10;

std::vector<double> squares_on_device(const System& system, const double* b) {
  const auto squares = array<double>(system.pairs(), "the norms of the rows of B");
  square_rows(b, system.pairs(), system.auxiliary, squares.get());
  return cuda::fetched(squares.get(), squares.count());
}

class DeviceWays final : public SplitWays {
 public:
  DeviceWays(const System& system, const double* b, const Options& options, std::int64_t batch)
      : system_(system),
        b_(b),
        options_(options),
        cutoff_(options.products.cutoff),
        rows_(batch * system.virtuals),
        batches_(std::max(1.0, double(system.occupied) / double(batch))),
        shape_{rows_, rows_, system.auxiliary} {}

  std::string too_small() const override {
    const double size = double(shape_.m) * double(shape_.n) * double(shape_.k);
    if (size >= cost_.smallest_product) return {};
    return fmt::format("products of {:.3g} multiplications are too small to split", size);
  }

  std::vector<SplitWay> all() override {
    analyse();
    const std::int64_t bytes = mgemm::device_budget(0);
    std::vector<SplitWay> ways;
    for (const FormTraits& form : mgemm::all_forms()) {
      if (options_.small_form != mgemm::SmallForm::automatic && options_.small_form != form.form) continue;
      for (const std::int64_t depth : useful_depths(form, system_.auxiliary)) {
        for (std::size_t cutoff = 0; cutoff < profile_.deltas.size(); ++cutoff) {
          const double here = bound(form, cutoff, depth);
          if (!(here <= largest_bound(cutoff)) || !fits(form, cutoff, bytes)) continue;
          ways.push_back({&form, profile_.deltas[cutoff], depth, profile_.extremes[cutoff].large, here,
                          gain(form, cutoff, depth)});
        }
      }
    }
    return ways;
  }

  std::vector<double> squares_of_rows() override { return squares_on_device(system_, b_); }

  double take_sample(const std::vector<double>& squares, const std::vector<double>* root) override {
    analyse();
    return sample_.emplace(system_, b_, squares, profile_.max_abs, root).error_of_step3();
  }

  SampledErrors errors(const SplitWay& way) override { return sample_->errors(way.form->form, way.delta, way.depth); }

 private:
  /// Once.
  void analyse() {
    if (!profile_.deltas.empty()) return;
    mgemm::DeviceFactor factor({b_, system_.pairs(), system_.auxiliary, system_.auxiliary, true}, mgemm::Side::left);
    const double quantile = factor_quantile(factor);
    const double delta = cutoff_.automatic ? mgemm::smallest_cutoff(quantile, quantile) : cutoff_.delta;
    factor.analyse(delta);
    factor.check_finite("B", mgemm::Order::rows);
    std::vector<double> deltas{delta};
    const double elements = double(system_.pairs()) * double(system_.auxiliary);
    if (cutoff_.automatic && double(factor.totals().large) <= mgemm::most_listed * elements + 1) {
      deltas = mgemm::rising_cutoffs(delta, factor.max_abs());
      if (deltas.size() > 1) factor.list_large();
    }
    profile_ = factor.profile(deltas);
  }

  double factor_quantile(const mgemm::DeviceFactor& factor) const {
    return cutoff_.automatic ? mgemm::DeviceFactor::samples({&factor})[0].quantile(mgemm::cutoff_quantile) : 0;
  }

  double bound(const FormTraits& form, std::size_t cutoff, std::int64_t depth) const {
    return mgemm::form_error_bound(shape_, profile_, profile_, cutoff, form, depth).certain;
  }

  /// Conversion and analysis of the two factors of a batch, which all its products share.
  double once(const FormTraits& form) const { return cost_.analysis(shape_) + cost_.conversion(shape_, form); }

  double gain(const FormTraits& form, std::size_t cutoff, std::int64_t depth) const {
    const double products = batches_ * (batches_ + 1) / 2;
    const auto large = std::int64_t(double(profile_.extremes[cutoff].large) / batches_);
    const double each = cost_.split(shape_, {large, large}, form, depth) - cost_.conversion(shape_, form);
    return products * cost_.plain(shape_) / (products * each + batches_ * once(form) + cost_of_sample(form));
  }

  /// What DeviceEnergySample takes at least: two products of its rows in double, and one trial. Or energy_sensitivity.
  double cost_of_sample(const FormTraits& form) const {
    if (!cutoff_.automatic) return 0;
    const double pairs = double(system_.pairs());
    if (is_certain()) return pairs * pairs / sensitivity_terms;
    const double numbers = double(system_.pairs()) * double(system_.auxiliary);
    const double flops = 2 * double(SampledEnergyError::rows) * numbers;
    return 2 * flops / cost_.double_flops + form.products() * flops / cost_.flops_of(form.form) +
           (3 * 8 + 2 * form.bytes * form.parts) * numbers / cost_.bytes + 2 * cost_.wait;
  }

  /// The parts of B for both sides, the lists of large elements and what a product takes.
  bool fits(const FormTraits& form, std::size_t cutoff, std::int64_t bytes) const {
    const std::int64_t large = profile_.extremes[cutoff].large;
    const std::int64_t factors = 2 * mgemm::DeviceFactor::bytes(system_.pairs(), system_.auxiliary, form) + 24 * large;
    const std::int64_t sample = cutoff_.automatic && !sample_ ? 3 * 8 * SampledEnergyError::rows * system_.pairs() : 0;
    const std::int64_t product = mgemm::multiply_bytes(rows_, rows_, system_.auxiliary) + 8 * rows_ * rows_;
    return factors + std::max(product, sample) <= bytes;
  }

  /// A given cutoff stands for what single precision makes of it.
  double largest_bound(std::size_t cutoff) const {
    if (cutoff_.automatic || options_.small_form != mgemm::SmallForm::automatic) return HUGE_VAL;
    const FormTraits& single = mgemm::traits_of(mgemm::SmallForm::single);
    return bound(single, cutoff, mgemm::usual_depth(single));
  }

  bool is_certain() const { return cutoff_.assurance == mgemm::Assurance::certain; }

  const System& system_;
  const double* b_;
  const Options& options_;
  const mgemm::Cutoff& cutoff_;
  std::int64_t rows_;
  double batches_;
  ProductShape shape_;  ///< of a product of batches
  mgemm::DeviceCostModel cost_;
  mgemm::FactorProfile profile_;
  std::optional<DeviceEnergySample> sample_;
};

}  // namespace

SplitChoice choose_split_on_device(const System& system, const std::vector<double>& root, const double* b,
                                   const Step3Errors& errors, const Options& options, std::int64_t batch) {
  DeviceWays ways(system, b, options, batch);
  return choose_split(system, root, errors, options, ways);
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
  if (!all_ || form != form_ || delta != delta_) {
    all_.reset();  // its memory is needed
    some_.reset();
    all_.emplace(DenseView<const double>{b_, pairs, n, n, true}, mgemm::Side::left, delta, form);
    some_.emplace(DenseView<const double>{sample_.get(), n, count + 1, n, false}, mgemm::Side::right, delta, form);
    form_ = form;
    delta_ = delta;
  }
  mgemm::multiply_prepared(1, {&*all_, 0, pairs}, {&*some_, 0, count}, 0, {mixed_.get(), pairs, count, pairs, false},
                           depth);
  return errors_of_mixed(has_step3_errors_ || mgemm::traits_of(form).truncates);
}

}  // namespace quadrille::ri_mp2
