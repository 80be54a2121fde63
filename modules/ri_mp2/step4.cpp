#include "modules/ri_mp2/step4.h"

#include "modules/mgemm/cost_model.h"
#include "modules/mgemm/cutoffs.h"
#include "modules/mgemm/device_choice.h"
#include "modules/mgemm/error_bound.h"
#include "modules/ri_mp2/energy.h"

#include <algorithm>
#include <optional>

namespace quadrille::ri_mp2 {
namespace {

class HostWays final : public SplitWays {
 public:
  HostWays(const System& system, const std::vector<double>& b, const Options& options, std::int64_t batch)
      : system_(system), b_(b), cutoff_(options.products.cutoff), batch_(batch) {}

  std::vector<SplitWay> all() override {
    const double smallest =
        cutoff_.automatic ? mgemm::smallest_cutoff(sampled_quantile(view(), mgemm::cutoff_quantile), 0) : cutoff_.delta;
    analyse(smallest);
    if (!cutoff_.automatic) return {way(smallest, mgemm::usual_depth(single_))};
    const std::vector<double> deltas =
        profile_.a.listed ? mgemm::rising_cutoffs(smallest, profile_.max_a) : std::vector<double>{smallest};
    std::vector<SplitWay> ways;
    for (const std::int64_t depth : useful_depths(single_, system_.auxiliary)) {
      for (const double delta : deltas) ways.push_back(way(delta, depth));
    }
    return ways;
  }

  std::vector<double> squares_of_rows() override { return ri_mp2::squares_of_rows(system_, b_); }

  double take_sample(const std::vector<double>& squares, const std::vector<double>* root) override {
    return sample_.emplace(system_, b_, squares, root).error_of_step3();
  }

  SampledErrors errors(const SplitWay& way) override { return sample_->errors(way.delta, way.depth); }

 private:
  DenseView<const double> view() const {
    return {b_.data(), system_.pairs(), system_.auxiliary, system_.auxiliary, true};
  }

  void analyse(double delta) {
    const std::int64_t listed = mgemm::listed_of(std::int64_t(b_.size()));
    profile_.shape = {system_.pairs(), system_.pairs(), system_.auxiliary};
    profile_.a = profile_magnitudes(view(), delta, listed);
    profile_.b = profile_.a;
    profile_.max_a = profile_.max_b = check_finite(view()).max_abs;
  }

  /// The gain is of the work of all products of batches, with a split of B that serves them all.
  SplitWay way(double delta, std::int64_t depth) const {
    const mgemm::CostModel cost;
    const double rows = double(batch_ * system_.virtuals), total = double(system_.pairs());
    const double batches = std::max(1.0, total / rows), products = batches * (batches + 1) / 2;
    const ProductShape shape{std::int64_t(rows), std::int64_t(rows), system_.auxiliary};
    const std::int64_t large = count_large(profile_, delta).a, each = std::int64_t(double(large) / batches);
    const double split = cost_of_sample() + products * cost.split_product(shape, {each, each}, depth) +
                         cost.split_element * double(b_.size());
    const double bound = error_bound(profile_, delta, depth).certain;
    return {&single_, delta, depth, large, bound, products * cost.plain(shape) / split};
  }

  /// What SampledEnergyError takes at least: two products of its rows in double, and one trial.
  double cost_of_sample() const {
    if (!cutoff_.automatic || cutoff_.assurance == mgemm::Assurance::certain) return 0;
    return 2.5 * 2 * double(SampledEnergyError::rows) * double(b_.size());
  }

  const mgemm::FormTraits& single_ = mgemm::traits_of(mgemm::SmallForm::single);
  const System& system_;
  const std::vector<double>& b_;
  const mgemm::Cutoff& cutoff_;
  std::int64_t batch_;
  mgemm::ProductProfile profile_;
  std::optional<SampledEnergyError> sample_;
};

}  // namespace

SplitChoice choose_split_here(const System& system, const std::vector<double>& root, const std::vector<double>& b,
                              const Step3Errors& errors, const Options& options, std::int64_t batch) {
  HostWays ways(system, b, options, batch);
  return choose_split(system, root, errors, options, ways);
}

}  // namespace quadrille::ri_mp2
