#include "modules/ri_mp2/split_choice.h"

#include "modules/mgemm/device_choice.h"
#include "modules/ri_mp2/cutoff_search.h"
#include "modules/ri_mp2/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

class Choice {
 public:
  Choice(const System& system, const std::vector<double>& root, const Step3Errors& errors, const Options& options,
         SplitWays& ways)
      : system_(system), root_(root), b_errors_(errors), options_(options), ways_(ways) {}

  SplitChoice decide() {
    if (cutoff_.automatic && b_errors_.split) {  // which count however step 4 is done
      prepare_errors();
      if (!(step3_error_ <= cutoff_.target_error)) return with_exact_b();
    }
    const std::string too_small = options_.products.always_split ? "" : ways_.too_small();
    if (!too_small.empty()) return in_double(too_small);
    const std::vector<SplitWay> found = ways_.all(), all = promising(found);
    if (all.empty()) return in_double(why_none(found));
    return cutoff_.automatic ? keep_target(all) : result(all.front(), 0);
  }

 private:
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
    if (all.empty()) return "no form keeps the bound and fits the memory";
    if (gain == 0) return fmt::format("with delta = {:.3g} numbers in single precision could overflow", all[0].delta);
    return fmt::format("no cutoff is expected to be faster: a split would take {:.2f} times as long", 1 / gain);
  }

  SplitChoice keep_target(const std::vector<SplitWay>& all) {
    prepare_errors();
    const SplitWay& most_exact = *std::min_element(
        all.begin(), all.end(), [](const SplitWay& x, const SplitWay& y) { return x.bound < y.bound; });
    const auto found = find_cutoff(
        all, most_exact, cutoff_.target_error, [this](const SplitWay& way) { return errors(way); },
        [](const SplitWay& way) { return way.bound; }, [](const SplitWay& way) { return int(way.form->form); });
    if (found.candidate != nullptr) return result(*found.candidate, found.errors.energy);
    return in_double(
        fmt::format("no cutoff that is expected to be faster keeps the energy within {:.3g} Hartree: {:.3g} at best",
                    cutoff_.target_error, found.errors.energy));
  }

  bool is_certain() const { return cutoff_.assurance == mgemm::Assurance::certain; }

  /// Once.
  void prepare_errors() {
    if (prepared_) return;
    prepared_ = true;
    const std::vector<double> squares = ways_.squares_of_rows();
    if (is_certain()) {
      sensitivity_ = energy_sensitivity(system_, squares);
      element_error_of_step3_ = b_errors_.of_integrals(squares, system_.auxiliary);
      step3_error_ = sensitivity_.error(element_error_of_step3_);
    } else {
      step3_error_ = ways_.take_sample(squares, b_errors_.split ? &root_ : nullptr);
      // With a given cutoff of step 3 integrals are as exact as was asked for.
      if (!b_errors_.split) integral_of_single_ = integral_error_of_single(system_, root_, squares);
    }
  }

  /// Of steps 3 and 4.
  CutoffErrors errors(const SplitWay& way) {
    if (is_certain()) return {sensitivity_.error(element_error_of_step3_ + way.bound)};
    const SampledErrors found = ways_.errors(way);
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
    choice.small_form = way.form->form;
    choice.delta = way.delta;
    choice.depth = way.depth;
    choice.error = error;
    const double elements = double(system_.pairs()) * double(system_.auxiliary);
    choice.form = fmt::format("mgemm: delta {:.3g}, {:.2e} of B large, small elements in {}", way.delta,
                              double(way.large) / elements, way.form->name);
    if (!way.form->integer) choice.form += fmt::format(", sums of {}", std::min(way.depth, system_.auxiliary));
    return choice;
  }

  const System& system_;
  const std::vector<double>& root_;
  const Step3Errors& b_errors_;
  const Options& options_;
  SplitWays& ways_;
  const mgemm::Cutoff& cutoff_ = options_.products.cutoff;
  bool prepared_ = false;
  double integral_of_single_ = HUGE_VAL;  ///< assurance measured: the largest error of an integral in single precision
  Sensitivity sensitivity_;               ///< assurance certain
  double element_error_of_step3_ = 0;     ///< there
  double step3_error_ = 0;                ///< of the energy
};

}  // namespace

SplitChoice choose_split(const System& system, const std::vector<double>& root, const Step3Errors& errors,
                         const Options& options, SplitWays& ways) {
  return Choice(system, root, errors, options, ways).decide();
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
