// How step 4 is done in mixed precision, wherever it is done: the form of the small elements, the cutoff, the length of
// sums, and whether to split B at all.
#pragma once

#include "modules/mgemm/forms.h"
#include "modules/ri_mp2/ri_mp2.h"
#include "modules/ri_mp2/sampled_energy.h"
#include "modules/ri_mp2/step3.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

/// A way to multiply B with itself.
struct SplitWay {
  const mgemm::FormTraits* form;
  double delta;
  std::int64_t depth;  ///< longest sum of the form
  std::int64_t large;  ///< elements of B above delta
  double bound;        ///< of the error of an element of B B^T; infinite where there is none
  double gain;         ///< expected speed over double, with all that the choice costs
};

/// The ways that there are on the CPU or on a GPU, what they cost, and what a sample shows of their errors.
class SplitWays {
 public:
  virtual ~SplitWays() = default;
  /// Why B need not be looked at; empty: it must be.
  virtual std::string too_small() const { return {}; }
  /// Analyses B. For a given cutoff: with that one. Errors: ErrorCode::numerical where B is not finite.
  virtual std::vector<SplitWay> all() = 0;
  /// |B_ia|^2 of every pair.
  virtual std::vector<double> squares_of_rows() = 0;
  /// Returns SampledEnergyError::error_of_step3. `root`: null where B is exact to double.
  virtual double take_sample(const std::vector<double>& squares, const std::vector<double>* root) = 0;
  /// As SampledEnergyError::errors, with the sample taken.
  virtual SampledErrors errors(const SplitWay& way) = 0;
};

struct SplitChoice {
  bool split = false;
  bool needs_exact_b = false;  ///< a split step 3 alone may exceed the target, by `error`; nothing else was chosen
  mgemm::SmallForm small_form = mgemm::SmallForm::single;
  double delta = 0;
  std::int64_t depth = 0;  ///< longest sum of the form
  /// Of the energy, in Hartree, for an automatic cutoff: bound or estimate of what steps 3 and 4 do together, or step 3
  /// where step 4 is to be done in double.
  double error = 0;
  std::string form;  ///< in words, with the reason
};

/// An automatic cutoff is the cheapest of those tried whose error of the energy is below the target, with what the
/// errors of B do to it: by the bounds of error_bound.h, step3.h and energy.h where the assurance is certain, by a
/// sample where it is measured. There another is taken that keeps integrals ten times as exact as in single precision,
/// by the largest errors that the sample shows, if it costs little more (cutoff_search.h), unless B is of a split
/// product. `root`: (P|Q)^{-1/2}; `errors`: those of B.
SplitChoice choose_split(const System& system, const std::vector<double>& root, const Step3Errors& errors,
                         const Options& options, SplitWays& ways);

/// Lengths of sums that are worth a trial: shorter than all there are change nothing.
std::vector<std::int64_t> useful_depths(const mgemm::FormTraits& form, std::int64_t auxiliary);

}  // namespace quadrille::ri_mp2
