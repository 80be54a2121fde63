// The search for the cheapest way that keeps a target, whose errors are costly to find.
#pragma once

#include <map>
#include <vector>

namespace quadrille::ri_mp2 {

template <class Candidate>
struct FoundCutoff {
  const Candidate* candidate = nullptr;  ///< null: none keeps the target
  double error = 0;                      ///< of it; of the most exact one where there is none
};

/// The first of `all`, the best first, with error(candidate) <= target. bound(candidate) is cheap to find, and of the
/// same nature as those of all candidates of the same kind(candidate), an integer. The most exact one is tried first:
/// where it fails no other needs a trial, and where it keeps the target it is there to fall back on.
template <class Candidate, class Error, class Bound, class Kind>
FoundCutoff<Candidate> find_cutoff(const std::vector<Candidate>& all, const Candidate& most_exact, double target,
                                   const Error& error, const Bound& bound, const Kind& kind) {
  struct Trial {
    double error, bound;
  };
  std::map<int, Trial> last;  // of each kind
  const double least = error(most_exact);
  if (!(least <= target)) return {nullptr, least};
  last[kind(most_exact)] = {least, bound(most_exact)};
  for (const Candidate& c : all) {
    // Errors change less than their bounds do: what these do not promise is not tried.
    const auto before = last.find(kind(c));
    if (before != last.end()) {
      const Trial& trial = before->second;
      if (trial.error > target && trial.error * bound(c) > 2 * target * trial.bound) continue;
    }
    const Trial trial{error(c), bound(c)};
    if (trial.error <= target) return {&c, trial.error};
    last[kind(c)] = trial;
  }
  return {&most_exact, least};
}

}  // namespace quadrille::ri_mp2
