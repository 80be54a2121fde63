// The search for the cheapest way that keeps a target, whose errors are costly to find.
#pragma once

#include <vector>

namespace quadrille::ri_mp2 {

template <class Candidate>
struct FoundCutoff {
  const Candidate* candidate = nullptr;  ///< null: none keeps the target
  double error = 0;                      ///< of it; of the most exact one where there is none
};

/// The first of `all`, the best first, with error(candidate) <= target. bound(candidate) is a bound of the same kind
/// for each, cheap to find. The most exact one is tried first: where it fails no other needs a trial.
template <class Candidate, class Error, class Bound>
FoundCutoff<Candidate> find_cutoff(const std::vector<Candidate>& all, const Candidate& most_exact, double target,
                                   const Error& error, const Bound& bound_of) {
  const double least = error(most_exact);
  double tried = least, bound = bound_of(most_exact);
  for (const Candidate& c : all) {
    if (!(least <= target)) break;
    // Errors change less than their bounds do: what these do not promise is not tried.
    if (tried > target && tried * bound_of(c) > 2 * target * bound) continue;
    tried = error(c);
    bound = bound_of(c);
    if (tried <= target) return {&c, tried};
  }
  return {nullptr, least};
}

}  // namespace quadrille::ri_mp2
