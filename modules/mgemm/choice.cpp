#include "modules/mgemm/choice.h"

#include "modules/mgemm/cutoffs.h"
#include "modules/mgemm/sampled_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace quadrille::mgemm {
namespace {

/// Lengths of sums in single precision that are tried for a target error; the first is used where there is none.
constexpr std::int64_t depths[] = {2048, 1024, 512, 256, 128};

class Choice {
 public:
  Choice(const Operands<double>& o, double max_a, double max_b, const Cutoff& cutoff, const MgemmOptions& options)
      : operands_(o), cutoff_(cutoff), options_(options), shape_{o.m(), o.n(), o.k()} {
    profile_.shape = shape_;
    profile_.max_a = max_a;
    profile_.max_b = max_b;
  }

  MgemmReport decide() {
    const double size = double(shape_.m) * double(shape_.n) * double(shape_.k);
    if (!options_.always_split && size < options_.cost.smallest_product) {
      return plain(
          fmt::format("m n k = {:.3g} is below {:.3g}: too small to split", size, options_.cost.smallest_product));
    }
    analyse(cutoff_.automatic ? smallest_delta() : cutoff_.delta);
    report_.delta = profile_.a.delta;
    report_.depth = options_.depth > 0 ? options_.depth : depths[0];
    bound_ = error_bound(profile_, report_.delta, report_.depth);
    if (cutoff_.automatic && !meet_target()) {
      const bool measured = cutoff_.assurance == Assurance::measured;
      return plain(fmt::format("with delta = {:.3g} the {} is {:.3g}, above the target {:.3g}", report_.delta,
                               measured ? "measured error" : to_string(cutoff_.assurance) + " error bound",
                               measured ? report_.measured : asked_bound(), cutoff_.target_error));
    }
    return weigh();
  }

 private:
  MgemmReport plain(std::string reason) {
    report_.form = MgemmForm::plain_double;
    report_.bound = report_.probable_bound = double_error_bound(shape_.k, profile_.max_a, profile_.max_b);
    report_.measured = 0;
    report_.depth = 0;
    report_.reason = std::move(reason);
    return report_;
  }

  double smallest_delta() const {
    return smallest_cutoff(sampled_quantile(operands_.a, cutoff_quantile),
                           sampled_quantile(operands_.b, cutoff_quantile));
  }

  void analyse(double delta) {
    profile_.a = profile_magnitudes(operands_.a, delta, listed_of(shape_.m * shape_.k));
    profile_.b = profile_magnitudes(operands_.b.transposed(), delta, listed_of(shape_.k * shape_.n));
    report_.analysed = true;
    count(delta);
  }

  void count(double delta) {
    large_ = count_large(profile_, delta);
    report_.large_a = double(large_.a) / (double(shape_.m) * double(shape_.k));
    report_.large_b = double(large_.b) / (double(shape_.k) * double(shape_.n));
    report_.large_elements = large_.a + large_.b;
    if (operands_.swapped) std::swap(report_.large_a, report_.large_b);
  }

  double asked_bound() const { return cutoff_.assurance == Assurance::certain ? bound_.certain : bound_.probable; }

  bool within(double delta, std::int64_t depth) {
    bound_ = error_bound(profile_, delta, depth);
    if (!std::isfinite(bound_.certain)) return false;
    if (cutoff_.assurance != Assurance::measured) return asked_bound() <= cutoff_.target_error;
    report_.measured = sample_->relative(delta, depth) * bound_.small_norms + bound_.in_double;
    return report_.measured <= cutoff_.target_error;
  }

  /// The longest sums that the smallest cutoff allows, and then the largest cutoff that these allow.
  bool meet_target() {
    if (cutoff_.assurance == Assurance::measured) {
      sample_.emplace(operands_.a, operands_.b, profile_.a.row_squares, profile_.b.row_squares);
    }
    const std::int64_t wanted = options_.depth;
    bool met = false;
    for (std::int64_t depth : depths) {
      report_.depth = wanted > 0 ? wanted : depth;
      met = within(report_.delta, report_.depth);
      if (met || wanted > 0) break;
    }
    if (!met || !profile_.a.listed || !profile_.b.listed) return met;
    const std::vector<double> deltas = rising_cutoffs(report_.delta, std::max(profile_.max_a, profile_.max_b));
    report_.delta = deltas[last_within(deltas.size(), [&](std::size_t n) { return within(deltas[n], report_.depth); })];
    within(report_.delta, report_.depth);
    count(report_.delta);
    return true;
  }

  MgemmReport weigh() {
    if (!std::isfinite(bound_.certain)) {
      return plain(fmt::format("with delta = {:.3g} single precision could overflow", report_.delta));
    }
    const double gain = options_.cost.plain(shape_) / options_.cost.split(shape_, large_, report_.depth);
    report_.expected_speedup = gain;
    const std::string fractions =
        fmt::format("{:.3g} of A and {:.3g} of B are large", report_.large_a, report_.large_b);
    if (gain <= 1 && !options_.always_split) {
      return plain(fmt::format("{}: the split would take {:.2f} times as long as plain double", fractions, 1 / gain));
    }
    report_.form = MgemmForm::split;
    report_.bound = bound_.certain;
    report_.probable_bound = bound_.probable;
    report_.reason = options_.always_split ? fractions + ": a split was asked for"
                                           : fmt::format("{}: {:.2f} times as fast as plain double", fractions, gain);
    return report_;
  }

  const Operands<double>& operands_;
  const Cutoff& cutoff_;
  const MgemmOptions& options_;
  ProductShape shape_;
  ProductProfile profile_;
  LargeCounts large_;
  ErrorBound bound_;
  std::optional<SampledError> sample_;  ///< where the assurance is measured
  MgemmReport report_;
};

}  // namespace

MgemmReport choose_form(const Operands<double>& operands, double max_a, double max_b, const Cutoff& cutoff,
                        const MgemmOptions& options) {
  return Choice(operands, max_a, max_b, cutoff, options).decide();
}

}  // namespace quadrille::mgemm
