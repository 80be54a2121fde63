// The search for the cheapest way that keeps a target, whose errors are costly to find.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

/// What a cutoff does.
struct CutoffErrors {
  double energy = 0;    ///< Hartree
  double integral = 0;  ///< over the largest error of an integral that is allowed

  /// The larger one, in units of what is allowed; NaN where the first is.
  double excess(double target) const { return std::max(energy / target, integral); }
};

/// Integrals must be this many times as exact as in single precision, by their largest errors.
constexpr double gain_over_single = 10;

/// CutoffErrors::integral for an error `error`, where single precision has `of_single`, which may be infinite.
inline double over_allowed(double error, double of_single) {
  return error == 0 || !std::isfinite(of_single) ? 0 : gain_over_single * error / of_single;
}

template <class Candidate>
struct FoundCutoff {
  const Candidate* candidate = nullptr;  ///< null: none keeps the target
  CutoffErrors errors;                   ///< of it; of the most exact one where there is none
};

/// The first of `all`, the best first, with errors(candidate).excess(target) <= 1. bound(candidate) is cheap to find,
/// and of the same nature as those of all candidates of the same kind(candidate), an integer. The most exact one is
/// tried first: where it fails no other needs a trial, and where it keeps the target it is there to fall back on.
template <class Candidate, class Errors, class Bound, class Kind>
FoundCutoff<Candidate> find_cutoff(const std::vector<Candidate>& all, const Candidate& most_exact, double target,
                                   const Errors& errors, const Bound& bound, const Kind& kind) {
  struct Trial {
    double excess, bound;
  };
  std::map<int, Trial> last;  // of each kind
  const CutoffErrors least = errors(most_exact);
  if (!(least.excess(target) <= 1)) return {nullptr, least};
  last[kind(most_exact)] = {least.excess(target), bound(most_exact)};
  for (const Candidate& c : all) {
    // Errors change less than their bounds do: what these do not promise is not tried.
    const auto before = last.find(kind(c));
    if (before != last.end()) {
      const Trial& trial = before->second;
      if (trial.excess > 1 && trial.excess * bound(c) > 2 * trial.bound) continue;
    }
    const CutoffErrors found = errors(c);
    if (found.excess(target) <= 1) return {&c, found};
    last[kind(c)] = {found.excess(target), bound(c)};
  }
  return {&most_exact, least};
}

/// Why no candidate was found; `errors`: of the most exact one.
inline std::string none_found(const char* what, double target, const CutoffErrors& errors) {
  if (!(errors.energy <= target)) {
    return fmt::format("no {} that is expected to be faster keeps the energy within {:.3g} Hartree: {:.3g} at best",
                       what, target, errors.energy);
  }
  return fmt::format(
      "no {} that is expected to be faster makes integrals {} times as exact as single precision: {:.2g} "
      "times at best",
      what, gain_over_single, gain_over_single / errors.integral);
}

}  // namespace quadrille::ri_mp2
