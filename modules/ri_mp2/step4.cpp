#include "modules/ri_mp2/step4.h"

#include "modules/mgemm/cost_model.h"
#include "modules/mgemm/cutoffs.h"
#include "modules/mgemm/error_bound.h"
#include "modules/ri_mp2/cutoff_search.h"
#include "modules/ri_mp2/energy.h"
#include "modules/ri_mp2/sampled_energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace quadrille::ri_mp2 {
namespace {

using mgemm::CostModel;

constexpr std::int64_t depths[] = {2048, 1024, 512, 256, 128, 64};

struct Candidate {
  double delta;
  std::int64_t depth;
  double fraction;  ///< of large elements
  double gain;      ///< expected, over double
};

class Choice {
 public:
  Choice(const System& system, const std::vector<double>& root, const std::vector<double>& b, const Step3Errors& errors,
         const Options& options, std::int64_t batch)
      : system_(system), root_(root), b_(b), b_errors_(errors), options_(options), batch_(batch) {}

  SplitChoice decide() {
    const mgemm::Cutoff& cutoff = options_.products.cutoff;
    analyse(cutoff.automatic ? mgemm::smallest_cutoff(quantile(), 0) : cutoff.delta);
    if (!cutoff.automatic) return result(candidate(cutoff.delta, depths[0]), 0);
    prepare_errors();
    if (!(step3_error_ <= cutoff.target_error)) return with_exact_b();
    const std::vector<Candidate> all = candidates();
    if (all.empty()) return in_double("no cutoff is expected to be faster");
    const Candidate& last = *std::min_element(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) {
      return std::pair(x.delta, x.depth) < std::pair(y.delta, y.depth);
    });
    const auto found = find_cutoff(
        all, last, cutoff.target_error, [this](const Candidate& c) { return errors(c); },
        [this](const Candidate& c) { return certain_bound(c); }, [](const Candidate&) { return 0; });
    if (found.candidate != nullptr) return result(*found.candidate, found.errors.energy);
    if (std::isinf(found.errors.energy)) return in_double("single precision could overflow");
    return in_double(
        fmt::format("no cutoff that is expected to be faster keeps the energy within {:.3g} Hartree: {:.3g} "
                    "at best",
                    cutoff.target_error, found.errors.energy));
  }

 private:
  DenseView<const double> view() const {
    return {b_.data(), system_.pairs(), system_.auxiliary, system_.auxiliary, true};
  }

  double quantile() const { return sampled_quantile(view(), mgemm::cutoff_quantile); }

  void analyse(double delta) {
    const std::int64_t listed = mgemm::listed_of(std::int64_t(b_.size()));
    profile_.shape = {system_.pairs(), system_.pairs(), system_.auxiliary};
    profile_.a = profile_magnitudes(view(), delta, listed);
    profile_.b = profile_.a;
    profile_.max_a = profile_.max_b = check_finite(view()).max_abs;
  }

  /// The work of all products of batches, with a split of B that serves them all.
  Candidate candidate(double delta, std::int64_t depth) const {
    const CostModel cost;
    const double rows = double(batch_ * system_.virtuals), total = double(system_.pairs());
    const double batches = std::max(1.0, total / rows), products = batches * (batches + 1) / 2;
    const ProductShape shape{std::int64_t(rows), std::int64_t(rows), system_.auxiliary};
    const std::int64_t large = count_large(profile_, delta).a, each = std::int64_t(double(large) / batches);
    const double split = cost_of_sample() + products * cost.split_product(shape, {each, each}, depth) +
                         cost.split_element * double(b_.size());
    return {delta, depth, double(large) / double(b_.size()), products * cost.plain(shape) / split};
  }

  /// What SampledEnergyError takes at least: two products of its rows in double, and one trial.
  double cost_of_sample() const {
    if (!options_.products.cutoff.automatic || is_certain()) return 0;
    return 2.5 * 2 * double(SampledEnergyError::rows) * double(b_.size());
  }

  /// Those that promise a gain, the best first. Shorter sums than all there are change nothing.
  std::vector<Candidate> candidates() const {
    const double smallest = profile_.a.delta;
    const std::vector<double> deltas =
        profile_.a.listed ? mgemm::rising_cutoffs(smallest, profile_.max_a) : std::vector<double>{smallest};
    std::vector<Candidate> all;
    for (std::size_t d = 0; d < std::size(depths); ++d) {
      if (d + 1 < std::size(depths) && depths[d + 1] >= system_.auxiliary) continue;
      for (double delta : deltas) all.push_back(candidate(delta, depths[d]));
    }
    if (!options_.products.always_split) std::erase_if(all, [](const Candidate& c) { return c.gain <= 1; });
    std::stable_sort(all.begin(), all.end(), [](const Candidate& x, const Candidate& y) { return x.gain > y.gain; });
    return all;
  }

  /// Of an element of B B^T; infinite where single precision could overflow.
  double certain_bound(const Candidate& c) const { return error_bound(profile_, c.delta, c.depth).certain; }

  bool is_certain() const { return options_.products.cutoff.assurance == mgemm::Assurance::certain; }

  void prepare_errors() {
    const std::vector<double> squares = squares_of_rows(system_, b_);
    if (is_certain()) {
      sensitivity_ = energy_sensitivity(system_, squares);
      element_error_of_step3_ = b_errors_.of_integrals(squares, system_.auxiliary);
      step3_error_ = sensitivity_.error(element_error_of_step3_);
    } else {
      sample_.emplace(system_, b_, squares, b_errors_.split ? &root_ : nullptr);
      step3_error_ = sample_->error_of_step3();
      // With a given cutoff of step 3 integrals are as exact as was asked for.
      if (!b_errors_.split) integral_of_single_ = integral_error_of_single(system_, root_, squares);
    }
  }

  /// Of steps 3 and 4.
  CutoffErrors errors(const Candidate& c) const {
    if (is_certain()) return {sensitivity_.error(element_error_of_step3_ + certain_bound(c))};
    if (!std::isfinite(certain_bound(c))) return {HUGE_VAL};
    const SampledErrors found = sample_->errors(c.delta, c.depth);
    return {found.energy, over_a_tenth(found.integral, integral_of_single_)};
  }

  /// Which leaves the error of step 3.
  SplitChoice in_double(const std::string& reason) const {
    SplitChoice choice;
    choice.form = "double: " + reason;
    choice.error = step3_error_;
    return choice;
  }

  SplitChoice with_exact_b() const {
    SplitChoice choice;
    choice.needs_exact_b = true;
    choice.error = step3_error_;
    return choice;
  }

  SplitChoice result(const Candidate& c, double error) const {
    if (!std::isfinite(certain_bound(c))) {
      return in_double(fmt::format("with delta = {:.3g} single precision could overflow", c.delta));
    }
    if (c.gain <= 1 && !options_.products.always_split) {
      return in_double(fmt::format("with delta = {:.3g} a split would take {:.2f} times as long", c.delta, 1 / c.gain));
    }
    SplitChoice choice;
    choice.split = true;
    choice.delta = c.delta;
    choice.depth = c.depth;
    choice.error = error;
    choice.form = fmt::format("mgemm: delta {:.3g}, {:.2e} of B large, sums of {}", c.delta, c.fraction,
                              std::min(c.depth, system_.auxiliary));
    return choice;
  }

  const System& system_;
  const std::vector<double>& root_;
  const std::vector<double>& b_;
  const Step3Errors& b_errors_;
  const Options& options_;
  std::int64_t batch_;
  mgemm::ProductProfile profile_;
  std::optional<SampledEnergyError> sample_;  ///< where the assurance is measured
  double integral_of_single_ = HUGE_VAL;      ///< there: the largest error of an integral in single precision
  Sensitivity sensitivity_;                   ///< where it is certain
  double element_error_of_step3_ = 0;         ///< there
  double step3_error_ = 0;                    ///< of the energy
};

}  // namespace

SplitChoice choose_split(const System& system, const std::vector<double>& root, const std::vector<double>& b,
                         const Step3Errors& errors, const Options& options, std::int64_t batch) {
  return Choice(system, root, b, errors, options, batch).decide();
}

}  // namespace quadrille::ri_mp2
