// The search for the cheapest way that keeps a target, whose errors are costly to find.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace quadrille::ri_mp2 {

/// What a cutoff does.
struct CutoffErrors {
  double energy = 0;    ///< Hartree
  double integral = 0;  ///< the largest of an integral, over a tenth of that of single precision
};

/// CutoffErrors::integral for an error `error`, where single precision has `of_single`, which may be infinite.
inline double over_a_tenth(double error, double of_single) {
  return error == 0 || !std::isfinite(of_single) ? 0 : 10 * error / of_single;
}

/// Candidates have a `gain`, their expected speed over double.
template <class Candidate>
struct FoundCutoff {
  const Candidate* candidate = nullptr;  ///< null: none keeps the target
  CutoffErrors errors;                   ///< of it; of the most exact one where there is none
};

/// The first of `all`, the best first, whose error of the energy is at most the target. bound(candidate) is cheap to
/// find, and of the same nature as those of all candidates of the same kind(candidate), an integer. The most exact one
/// is tried first: where it fails no other needs a trial, and where it keeps the target it is there to fall back on.
template <class Candidate, class Errors, class Bound, class Kind>
FoundCutoff<Candidate> keep_energy(const std::vector<Candidate>& all, const Candidate& most_exact, double target,
                                   const Errors& errors, const Bound& bound, const Kind& kind) {
  struct Trial {
    double error, bound;
  };
  std::map<int, Trial> last;  // of each kind
  const CutoffErrors least = errors(most_exact);
  if (!(least.energy <= target)) return {nullptr, least};
  last[kind(most_exact)] = {least.energy, bound(most_exact)};
  for (const Candidate& c : all) {
    // Errors change less than their bounds do: what these do not promise is not tried.
    const auto before = last.find(kind(c));
    if (before != last.end()) {
      const Trial& trial = before->second;
      if (trial.error > target && trial.error * bound(c) > 2 * target * trial.bound) continue;
    }
    const CutoffErrors found = errors(c);
    if (found.energy <= target) return {&c, found};
    last[kind(c)] = {found.energy, bound(c)};
  }
  return {&most_exact, least};
}

/// As keep_energy; or, where one more trial shows it at no less than 0.8 of the gain, a candidate that keeps integrals
/// ten times as exact as single precision, too: the best of those whose bounds promise it.
template <class Candidate, class Errors, class Bound, class Kind>
FoundCutoff<Candidate> find_cutoff(const std::vector<Candidate>& all, const Candidate& most_exact, double target,
                                   const Errors& errors, const Bound& bound, const Kind& kind) {
  constexpr double worth = 0.8;
  const FoundCutoff<Candidate> cheapest = keep_energy(all, most_exact, target, errors, bound, kind);
  if (cheapest.candidate == nullptr || cheapest.errors.integral <= 1) return cheapest;
  const Candidate& first = *cheapest.candidate;
  const auto promising = std::find_if(all.begin(), all.end(), [&](const Candidate& c) {
    return c.gain >= worth * first.gain && kind(c) == kind(first) &&
           cheapest.errors.integral * bound(c) <= bound(first);
  });
  if (promising == all.end()) return cheapest;
  const CutoffErrors found = errors(*promising);
  return found.energy <= target && found.integral <= 1 ? FoundCutoff<Candidate>{&*promising, found} : cheapest;
}

}  // namespace quadrille::ri_mp2
