// How step 4 is done in mixed precision: the cutoff, the length of sums in single, and whether to split B at all.
#pragma once

#include "modules/ri_mp2/ri_mp2.h"
#include "modules/ri_mp2/step3.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

struct SplitChoice {
  bool split = false;
  bool needs_exact_b = false;  ///< a split step 3 alone may exceed the target, by `error`; nothing else was chosen
  double delta = 0;
  std::int64_t depth = 0;  ///< longest sum in single
  /// Of the energy, in Hartree, for an automatic cutoff: bound or estimate of what steps 3 and 4 do together, or step 3
  /// where step 4 is to be done in double.
  double error = 0;
  std::string form;  ///< in words, with the reason
};

/// For batches of `batch` occupied orbitals. An automatic cutoff is the cheapest of those tried whose error of the
/// energy is below the target, with what the errors of B do to it: by the bounds of error_bound.h, step3.h and energy.h
/// where the assurance is certain, by SampledEnergyError where it is measured. There another is taken that keeps
/// integrals ten times as exact as in single precision, by the largest errors that the sample shows, if it costs little
/// more (cutoff_search.h), unless B is of a split product. `root`: (P|Q)^{-1/2}; `b`: B as it was made, `errors` its
/// errors.
SplitChoice choose_split(const System& system, const std::vector<double>& root, const std::vector<double>& b,
                         const Step3Errors& errors, const Options& options, std::int64_t batch);

}  // namespace quadrille::ri_mp2
