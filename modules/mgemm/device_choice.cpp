#include "modules/mgemm/device_choice.h"

#include "core/error.h"
#include "modules/mgemm/cutoffs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::mgemm {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

class DeviceChooser {
 public:
  DeviceChooser(const ProductShape& shape, const FactorProfile& a, const FactorProfile& b, Known known,
                const Cutoff& cutoff, const MgemmOptions& options)
      : shape_(shape), a_(a), b_(b), known_(known), cutoff_(cutoff), options_(options), target_(target()) {}

  DeviceChoice choose() {
    for (const FormTraits& form : all_forms()) {
      if (options_.small_form != SmallForm::automatic && options_.small_form != form.form) continue;
      for (std::int64_t depth : depths(form)) consider(form, depth);
    }
    if (!std::isfinite(least_)) {
      best_.reason = std::isfinite(target_)
                         ? fmt::format("with delta = {:.3g} the {} error bound is {:.3g}, above the target {:.3g}",
                                       a_.deltas.front(), to_string(cutoff_.assurance), closest_, target_)
                         : fmt::format("with delta = {:.3g} there is no bound on the error", a_.deltas.front());
      return best_;
    }
    weigh();
    return best_;
  }

 private:
  double target() const {
    if (cutoff_.automatic) return cutoff_.target_error;
    if (options_.small_form != SmallForm::automatic) return infinity;
    const FormTraits& single = traits_of(SmallForm::single);
    return form_error_bound(shape_, a_, b_, 0, single, usual_depth(single)).certain;
  }

  std::vector<std::int64_t> depths(const FormTraits& form) const {
    if (options_.depth > 0) return {options_.depth};
    if (form.integer || !std::isfinite(target_)) return {usual_depth(form)};
    return {2048, 1024, 512, 256, 128, 64};
  }

  double relevant(const ErrorBound& bound) const {
    return cutoff_.automatic && cutoff_.assurance == Assurance::probable ? bound.probable : bound.certain;
  }

  /// The largest cutoff that keeps the target (bounds grow with the cutoff), and what it costs.
  void consider(const FormTraits& form, std::int64_t depth) {
    const auto bound = [&](std::size_t number) { return form_error_bound(shape_, a_, b_, number, form, depth); };
    const auto within = [&](std::size_t number) {
      const double here = relevant(bound(number));
      return here <= target_ && std::isfinite(here);
    };
    closest_ = std::min(closest_, relevant(bound(0)));
    if (!within(0)) return;
    const std::size_t good = last_within(a_.deltas.size(), within);
    const LargeCounts large{a_.extremes[good].large, b_.extremes[good].large};
    const double seconds = options_.device_cost.split(shape_, large, form, depth);
    if (!(seconds < least_)) return;
    least_ = seconds;
    best_.form = form.form;
    best_.depth = depth_of_order(form, depth, 0);
    best_.cutoff = good;
    best_.bound = bound(good);
  }

  void weigh() {
    const double plain = options_.device_cost.plain(shape_), all = least_ + options_.device_cost.analysis(shape_);
    const double gain = plain / (known_ == Known::analysed ? least_ : all);
    best_.expected_speedup = plain / all;
    const CutoffExtremesOfLines &a = a_.extremes[best_.cutoff], &b = b_.extremes[best_.cutoff];
    const std::string what =
        fmt::format("{} of the elements of op(A) and {} of op(B) are large, the others in the form {}", a.large,
                    b.large, to_string(best_.form));
    best_.split = gain > 1 || options_.always_split;
    if (options_.always_split) {
      best_.reason = what + ": a split was asked for";
    } else if (best_.split) {
      best_.reason = fmt::format("{}: {:.2f} times as fast as plain double{}", what, gain,
                                 known_ == Known::analysed ? ", the analysis apart" : "");
    } else {
      best_.reason = fmt::format("{}: the split would take {:.2f} times as long as plain double", what, 1 / gain);
    }
  }

  const ProductShape& shape_;
  const FactorProfile &a_, &b_;
  Known known_;
  const Cutoff& cutoff_;
  const MgemmOptions& options_;
  double target_, least_ = infinity, closest_ = infinity;
  DeviceChoice best_;
};

}  // namespace

DeviceChoice choose_on_device(const ProductShape& shape, const FactorProfile& a, const FactorProfile& b, Known known,
                              const Cutoff& cutoff, const MgemmOptions& options) {
  return DeviceChooser(shape, a, b, known, cutoff, options).choose();
}

void require_no_sample(const Cutoff& cutoff) {
  if (!cutoff.automatic || cutoff.assurance != Assurance::measured) return;
  throw Error(
      ErrorCode::unsupported,
      "the assurance measured needs a sample of the product, which a GPU does not take; it has certain and probable");
}

std::int64_t usual_depth(const FormTraits& form) {
  if (form.integer) return longest_integer_sum;
  return form.truncates ? 512 : 2048;
}

}  // namespace quadrille::mgemm
