// What multiplies B with itself on the CPU, for the choice of how to do it.
#include "core/error.h"
#include "modules/mgemm/choice/cost_model.h"
#include "modules/mgemm/choice/error_bound.h"
#include "modules/ri_mp2/energy.h"
#include "modules/ri_mp2/split_choice.h"
#include "modules/shared/dense/magnitude_split.h"

#include <algorithm>
#include <optional>

namespace quadrille::ri_mp2 {
namespace {

/// The costs and the bounds, wherever B is.
class HostCosts : public BatchMultiplier {
 public:
  HostCosts(const System& system, const Options& options, std::int64_t batch)
      : system_(system), cutoff_(options.products.cutoff) {
    const std::int64_t rows = batch * system.virtuals;
    product_.shape = {rows, rows, system.auxiliary};
    batches_ = std::max(1.0, double(system.pairs()) / double(rows));
  }

  std::vector<std::vector<mgemm::SmallWay>> ways() const override {
    const mgemm::FormTraits& single = mgemm::traits_of(mgemm::SmallForm::single);
    std::vector<mgemm::SmallWay> ways;
    for (const std::int64_t depth : useful_depths(single, system_.auxiliary)) ways.push_back({&single, depth});
    return {ways};
  }

  mgemm::ErrorBound bound(const mgemm::SmallWay& way, std::size_t cutoff) const override {
    return error_bound(product_, cutoff, way.depth);
  }

  double plain() const override { return products() * cost_.plain(product_.shape); }
  /// With a split of B that serves all products.
  double split(const mgemm::SmallWay& way, const mgemm::LargeCounts& large) const override {
    const std::int64_t each = std::int64_t(double(large.a) / batches_);
    return cost_of_sample() + products() * cost_.split_product(product_.shape, {each, each}, way.depth) +
           cost_.split_element * numbers();
  }

 protected:
  double numbers() const { return double(system_.pairs()) * double(system_.auxiliary); }

  const System& system_;
  const mgemm::Cutoff& cutoff_;
  mgemm::AnalysedProduct product_;  ///< of the shape of a product of batches

 private:
  double products() const { return batches_ * (batches_ + 1) / 2; }

  /// What SampledEnergyError takes at least: two products of its rows in double, and one trial.
  double cost_of_sample() const {
    if (!cutoff_.automatic || cutoff_.assurance == mgemm::Assurance::certain) return 0;
    return 2.5 * 2 * double(SampledEnergyError::rows) * numbers();
  }

  double batches_ = 1;
  mgemm::CostModel cost_;
};

class Host final : public HostCosts {
 public:
  Host(const System& system, const std::vector<double>& b, const Options& options, std::int64_t batch)
      : HostCosts(system, options, batch), b_(b) {}

  const mgemm::AnalysedProduct& analysed() override {
    const DenseView<const double> rows{b_.data(), system_.pairs(), system_.auxiliary, system_.auxiliary, true};
    const double largest = check_finite(rows).max_abs;
    const double quantile = cutoff_.automatic ? sampled_quantile(rows, mgemm::cutoff_quantile) : 0;
    product_.a = product_.b = mgemm::profile_on_host(rows, largest, mgemm::cutoffs_of(cutoff_, quantile, largest));
    return product_;
  }

  std::vector<double> squares_of_rows() override { return ri_mp2::squares_of_rows(system_, b_); }

  double take_sample(const std::vector<double>& squares, const std::vector<double>* root) override {
    return sample_.emplace(system_, b_, squares, root).error_of_step3();
  }

  SampledErrors errors(const mgemm::SmallWay& way, double delta) override { return sample_->errors(delta, way.depth); }

 private:
  const std::vector<double>& b_;
  std::optional<SampledEnergyError> sample_;
};

/// Of a B that passes orbital by orbital.
class HostOfOrbitals final : public HostCosts {
 public:
  HostOfOrbitals(const System& system, const EachOrbital& b, const Options& options, std::int64_t batch)
      : HostCosts(system, options, batch), b_(b) {}

  const mgemm::AnalysedProduct& analysed() override {
    if (product_.a.deltas.empty()) {
      analysis_ = analyse_orbitals(system_, b_, cutoff_);
      product_.a = product_.b = analysis_.profile;
    }
    return product_;
  }

  std::vector<double> squares_of_rows() override { return squares_of_orbitals(b_); }
  double take_sample(const std::vector<double>&, const std::vector<double>*) override { no_sample(); }
  SampledErrors errors(const mgemm::SmallWay&, double) override { no_sample(); }

  std::int64_t most_above(double delta) const { return analysis_.most_above(delta); }

 private:
  const EachOrbital& b_;
  OrbitalAnalysis analysis_;
};

}  // namespace

void no_sample() { throw Error(ErrorCode::internal, "a sample was asked for of a B that is not in memory"); }

SplitChoice choose_split_here(const System& system, const std::vector<double>& root, const std::vector<double>& b,
                              const Step3Errors& errors, const Options& options, std::int64_t batch) {
  Host host(system, b, options, batch);
  return choose_split(system, root, errors, options, host);
}

StreamedSplit choose_split_of_orbitals(const System& system, const std::vector<double>& root, const EachOrbital& b,
                                       const Step3Errors& errors, const Options& options, std::int64_t batch) {
  HostOfOrbitals host(system, b, options, batch);
  const SplitChoice choice = choose_split(system, root, errors, options, host);
  return {choice, choice.split ? host.most_above(choice.delta) : 0};
}

}  // namespace quadrille::ri_mp2
