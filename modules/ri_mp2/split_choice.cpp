#include "modules/ri_mp2/split_choice.h"

#include "modules/ri_mp2/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace quadrille::ri_mp2 {
namespace {

class Choice {
 public:
  Choice(const System& system, const std::vector<double>& root, const Step3Errors& errors, const Options& options,
         BatchMultiplier& multiplier)
      : system_(system), root_(root), b_errors_(errors), options_(options), multiplier_(multiplier) {}

  SplitChoice decide() {
    if (cutoff_.automatic && b_errors_.split) {  // which count however step 4 is done
      prepare_errors();
      if (!(step3_error_ <= cutoff_.target_error)) return with_exact_b();
    }
    const std::string too_small = options_.products.always_split ? "" : multiplier_.too_small();
    if (!too_small.empty()) return in_double(too_small);
    const std::vector<SplitWay> found = all_ways(), all = promising(found);
    if (all.empty()) return in_double(why_none(found));
    return cutoff_.automatic ? keep_target(all) : result(all.front(), 0);
  }

 private:
  /// Those that there is memory for; of a given cutoff those that single precision would not be better than.
  std::vector<SplitWay> all_ways() {
    const mgemm::AnalysedProduct& product = multiplier_.analysed();
    const mgemm::FormTraits& single = mgemm::traits_of(mgemm::SmallForm::single);
    const bool as_single = !cutoff_.automatic && options_.small_form == mgemm::SmallForm::automatic;
    const double most = as_single ? multiplier_.bound({&single, mgemm::usual_depth(single)}, 0).certain : HUGE_VAL;
    const std::int64_t free_bytes = multiplier_.free_bytes();
    std::vector<SplitWay> ways;
    for (const std::vector<mgemm::SmallWay>& of_form : multiplier_.ways()) {
      for (const mgemm::SmallWay& way : of_form) {
        for (std::size_t cutoff = 0; cutoff < product.a.deltas.size(); ++cutoff) {
          const double bound = multiplier_.bound(way, cutoff).certain;
          const mgemm::LargeCounts large = mgemm::large_of(product, cutoff);
          if (!(bound <= most) || multiplier_.bytes(way, large.a) > free_bytes) continue;
          ways.push_back(
              {way, product.a.deltas[cutoff], large.a, bound, multiplier_.plain() / multiplier_.split(way, large)});
        }
      }
    }
    return ways;
  }

  /// With a bound and a gain, the best first.
  std::vector<SplitWay> promising(std::vector<SplitWay> all) const {
    std::erase_if(all, [this](const SplitWay& way) {
      return !std::isfinite(way.bound) || (way.gain <= 1 && !options_.products.always_split);
    });
    std::stable_sort(all.begin(), all.end(), [](const SplitWay& x, const SplitWay& y) { return x.gain > y.gain; });
    return all;
  }

  static std::string why_none(const std::vector<SplitWay>& all) {
    double gain = 0;
    for (const SplitWay& way : all) gain = std::max(gain, std::isfinite(way.bound) ? way.gain : 0);
    if (all.empty()) return "no form keeps the bound and fits into memory";
    if (gain == 0) return fmt::format("with delta = {:.3g} numbers in single precision could overflow", all[0].delta);
    return fmt::format("no cutoff is expected to be faster: a split would take {:.2f} times as long", 1 / gain);
  }

  SplitChoice keep_target(const std::vector<SplitWay>& all) {
    prepare_errors();
    const FoundCutoff found =
        find_cutoff(all, cutoff_.target_error, [this](const SplitWay& way) { return errors(way); });
    if (found.way != nullptr) return result(*found.way, found.errors.energy);
    return in_double(
        fmt::format("no cutoff that is expected to be faster keeps the energy within {:.3g} Hartree: {:.3g} at best",
                    cutoff_.target_error, found.errors.energy));
  }

  bool is_certain() const { return cutoff_.assurance == mgemm::Assurance::certain; }

  /// Once.
  void prepare_errors() {
    if (prepared_) return;
    prepared_ = true;
    const std::vector<double> squares = multiplier_.squares_of_rows();
    if (is_certain()) {
      sensitivity_ = energy_sensitivity(system_, squares);
      element_error_of_step3_ = b_errors_.of_integrals(squares, system_.auxiliary);
      step3_error_ = sensitivity_.error(element_error_of_step3_);
    } else {
      step3_error_ = multiplier_.take_sample(squares, b_errors_.split ? &root_ : nullptr);
      // With a given cutoff of step 3 integrals are as exact as required.
      if (!b_errors_.split) integral_of_single_ = integral_error_of_single(system_, root_, squares);
    }
  }

  /// Of steps 3 and 4.
  CutoffErrors errors(const SplitWay& way) {
    if (is_certain()) return {sensitivity_.error(element_error_of_step3_ + way.bound)};
    const SampledErrors found = multiplier_.errors(way.way, way.delta);
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

  SplitChoice result(const SplitWay& way, double error) const {
    SplitChoice choice;
    choice.split = true;
    choice.small_form = way.way.form->form;
    choice.delta = way.delta;
    choice.depth = way.way.depth;
    choice.error = error;
    const double elements = double(system_.pairs()) * double(system_.auxiliary);
    choice.form = fmt::format("mgemm: delta {:.3g}, {:.2e} of B large, small elements in {}", way.delta,
                              double(way.large) / elements, way.way.form->name);
    if (!way.way.form->integer) choice.form += fmt::format(", sums of {}", std::min(way.way.depth, system_.auxiliary));
    return choice;
  }

  const System& system_;
  const std::vector<double>& root_;
  const Step3Errors& b_errors_;
  const Options& options_;
  BatchMultiplier& multiplier_;
  const mgemm::Cutoff& cutoff_ = options_.products.cutoff;
  bool prepared_ = false;
  double integral_of_single_ = HUGE_VAL;  ///< assurance measured: the largest error of an integral in single precision
  Sensitivity sensitivity_;               ///< assurance certain
  double element_error_of_step3_ = 0;     ///< there
  double step3_error_ = 0;                ///< of the energy
};

/// The cheapest that keeps the target.
FoundCutoff keep_energy(const std::vector<SplitWay>& all, double target,
                        const std::function<CutoffErrors(const SplitWay&)>& errors) {
  struct Trial {
    double error, bound;
  };
  const SplitWay& most_exact =
      *std::min_element(all.begin(), all.end(), [](const SplitWay& x, const SplitWay& y) { return x.bound < y.bound; });
  const CutoffErrors least = errors(most_exact);
  if (!(least.energy <= target)) return {nullptr, least};
  std::map<const mgemm::FormTraits*, Trial> last;  // of each form
  last[most_exact.way.form] = {least.energy, most_exact.bound};
  for (const SplitWay& way : all) {
    // Errors change less than their bounds do: what these do not promise is not tried.
    const auto before = last.find(way.way.form);
    if (before != last.end()) {
      const Trial& trial = before->second;
      if (trial.error > target && trial.error * way.bound > 2 * target * trial.bound) continue;
    }
    const CutoffErrors found = errors(way);
    if (found.energy <= target) return {&way, found};
    last[way.way.form] = {found.energy, way.bound};
  }
  return {&most_exact, least};
}

}  // namespace

double over_a_tenth(double error, double of_single) {
  return error == 0 || !std::isfinite(of_single) ? 0 : 10 * error / of_single;
}

FoundCutoff find_cutoff(const std::vector<SplitWay>& all, double target,
                        const std::function<CutoffErrors(const SplitWay&)>& errors) {
  constexpr double worth = 0.8;
  const FoundCutoff cheapest = keep_energy(all, target, errors);
  if (cheapest.way == nullptr || cheapest.errors.integral <= 1) return cheapest;
  const SplitWay& first = *cheapest.way;
  const auto promising = std::find_if(all.begin(), all.end(), [&](const SplitWay& way) {
    return way.gain >= worth * first.gain && way.way.form == first.way.form &&
           cheapest.errors.integral * way.bound <= first.bound;
  });
  if (promising == all.end()) return cheapest;
  const CutoffErrors found = errors(*promising);
  return found.energy <= target && found.integral <= 1 ? FoundCutoff{&*promising, found} : cheapest;
}

SplitChoice choose_split(const System& system, const std::vector<double>& root, const Step3Errors& errors,
                         const Options& options, BatchMultiplier& multiplier) {
  return Choice(system, root, errors, options, multiplier).decide();
}

std::vector<std::int64_t> useful_depths(const mgemm::FormTraits& form, std::int64_t auxiliary) {
  if (form.integer) return {mgemm::usual_depth(form)};
  constexpr std::int64_t depths[] = {2048, 1024, 512, 256, 128, 64};
  std::vector<std::int64_t> useful;
  for (std::size_t d = 0; d < std::size(depths); ++d) {
    if (d + 1 == std::size(depths) || depths[d + 1] < form.parts * auxiliary) useful.push_back(depths[d]);
  }
  return useful;
}

}  // namespace quadrille::ri_mp2
