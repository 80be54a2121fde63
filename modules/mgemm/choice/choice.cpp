#include "modules/mgemm/choice/choice.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille::mgemm {
namespace {

class Choice {
 public:
  Choice(Multiplier& multiplier, const AnalysedProduct& product, Known known, const Cutoff& cutoff,
         const MgemmOptions& options)
      : multiplier_(multiplier), product_(product), known_(known), cutoff_(cutoff), options_(options) {}

  MgemmReport decide() {
    const double target = what_is_asked_for();
    for (const std::vector<SmallWay>& alternatives : multiplier_.ways()) {
      for (const SmallWay& way : alternatives) {
        if (keeps(way, target)) break;
      }
    }
    describe();
    if (!std::isfinite(best_.cost)) {
      report_double(why_none(target), double_bound(), report_);
    } else {
      weigh();
    }
    return report_;
  }

 private:
  struct Candidate {
    SmallWay way{};
    std::size_t cutoff = 0;
    ErrorBound bound;
    double error = infinity;  ///< in the sense of the assurance
    double cost = infinity;
  };

  double what_is_asked_for() const {
    if (cutoff_.automatic) return cutoff_.target_error;
    if (options_.small_form != SmallForm::automatic) return infinity;
    const FormTraits& single = traits_of(SmallForm::single);
    return multiplier_.bound({&single, usual_depth(single)}, 0).certain;
  }

  bool is_measured() const { return cutoff_.automatic && cutoff_.assurance == Assurance::measured; }

  Candidate tried(const SmallWay& way, std::size_t cutoff) {
    Candidate found{way, cutoff, multiplier_.bound(way, cutoff)};
    if (!std::isfinite(found.bound.certain)) return found;
    const bool probable = cutoff_.automatic && cutoff_.assurance == Assurance::probable;
    found.error = is_measured() ? multiplier_.measured(way, cutoff, found.bound)
                  : probable    ? found.bound.probable
                                : found.bound.certain;
    return found;
  }

  /// Whether the way keeps the target with the smallest cutoff. With the largest cutoff that does it is a candidate.
  bool keeps(const SmallWay& way, double target) {
    const auto good = [&](const Candidate& c) { return c.error <= target && std::isfinite(c.error); };
    Candidate last = tried(way, 0);
    closest_ = std::min(closest_, last.error);
    if (!good(last)) return false;
    std::size_t bad = product_.a.deltas.size();  // errors grow with the cutoff
    while (bad - last.cutoff > 1) {
      const Candidate middle = tried(way, (last.cutoff + bad) / 2);
      if (good(middle)) {
        last = middle;
      } else {
        bad = middle.cutoff;
      }
    }
    last.cost = multiplier_.split(way, large_of(product_, last.cutoff));
    if (last.cost < best_.cost) best_ = last;
    return true;
  }

  /// The cutoff, and what it does to the factors.
  void describe() {
    const ProductShape& s = product_.shape;
    const LargeCounts large = large_of(product_, best_.cutoff);
    report_.analysed = true;
    report_.delta = product_.a.deltas[best_.cutoff];
    report_.large_elements = large.a + large.b;
    report_.large_a = double(large.a) / (double(s.m) * double(s.k));
    report_.large_b = double(large.b) / (double(s.k) * double(s.n));
    if (product_.swapped) std::swap(report_.large_a, report_.large_b);
  }

  std::string why_none(double target) const {
    if (!cutoff_.automatic) {
      return fmt::format("with delta = {:.3g} there is no bound on the error: sums could overflow", report_.delta);
    }
    return fmt::format("with delta = {:.3g} the {} is {:.3g}, above the target {:.3g}", report_.delta,
                       is_measured() ? "measured error" : to_string(cutoff_.assurance) + " error bound", closest_,
                       target);
  }

  void weigh() {
    const double plain = multiplier_.plain(), all = best_.cost + multiplier_.analysis();
    const bool apart = known_ == Known::analysed && multiplier_.analysis() > 0;
    const double gain = plain / (known_ == Known::analysed ? best_.cost : all);
    const std::string what =
        fmt::format("{:.3g} of A and {:.3g} of B are large, the others multiplied as {}: ", report_.large_a,
                    report_.large_b, best_.way.form->name);
    report_.expected_speedup = plain / all;
    if (gain <= 1 && !options_.always_split) {
      return report_double(fmt::format("{}the split would take {:.2f} times as long as plain double", what, 1 / gain),
                           double_bound(), report_);
    }
    report_.form = MgemmForm::split;
    report_.small_form = best_.way.form->form;
    report_.depth = best_.way.depth;
    report_.bound = best_.bound.certain;
    report_.probable_bound = best_.bound.probable;
    report_.measured = is_measured() ? best_.error : 0;
    report_.reason = what + (options_.always_split ? "a split was requested"
                                                   : fmt::format("{:.2f} times as fast as plain double{}", gain,
                                                                 apart ? ", not counting the analysis" : ""));
  }

  double double_bound() const { return double_error_bound(product_.shape.k, product_.a.max_abs, product_.b.max_abs); }

  Multiplier& multiplier_;
  const AnalysedProduct& product_;
  Known known_;
  const Cutoff& cutoff_;
  const MgemmOptions& options_;
  Candidate best_;
  double closest_ = infinity;  ///< error that a way has with the smallest cutoff
  MgemmReport report_;
};

}  // namespace

double Multiplier::measured(const SmallWay&, std::size_t, const ErrorBound&) {
  throw Error(ErrorCode::internal, "this multiplier takes no sample");
}

MgemmReport choose(Multiplier& multiplier, const AnalysedProduct& product, Known known, const Cutoff& cutoff,
                   const MgemmOptions& options) {
  return Choice(multiplier, product, known, cutoff, options).decide();
}

std::vector<double> cutoffs_of(const Cutoff& cutoff, double quantile, double largest_magnitude) {
  if (!cutoff.automatic) return {cutoff.delta};
  constexpr std::size_t most = 64;
  const bool finite = quantile > 0 && std::isfinite(quantile);
  std::vector<double> deltas{finite ? std::exp2(std::ceil(std::log2(quantile))) : 0};
  while (deltas.back() < largest_magnitude) {
    const bool doubles = deltas.back() > 0 && deltas.size() + 1 < most;
    deltas.push_back(doubles ? 2 * deltas.back() : largest_magnitude);
  }
  return deltas;
}

std::string too_small(const ProductShape& shape, double least, const MgemmOptions& options) {
  const double size = double(shape.m) * double(shape.n) * double(shape.k);
  if (options.always_split || size >= least) return {};
  return fmt::format("m n k = {:.3g} is below {:.3g}: too small to split", size, least);
}

void report_double(std::string reason, double bound, MgemmReport& report) {
  report.form = MgemmForm::plain_double;
  report.reason = std::move(reason);
  report.bound = report.probable_bound = bound;
  report.measured = 0;
  report.depth = 0;
}

std::int64_t usual_depth(const FormTraits& form) {
  if (form.integer) return longest_integer_sum;
  return form.truncates ? 512 : 2048;
}

}  // namespace quadrille::mgemm
