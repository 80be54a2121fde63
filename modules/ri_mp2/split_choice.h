// How step 4 is done in mixed precision, wherever it is done: the form of the small elements, the cutoff, the length of
// sums, and whether to split B at all.
#pragma once

#include "modules/mgemm/choice/choice.h"
#include "modules/ri_mp2/ri_mp2.h"
#include "modules/ri_mp2/sampled_energy.h"
#include "modules/ri_mp2/step3.h"
#include "modules/ri_mp2/stream/analysis.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

/// Who multiplies B with itself, on the CPU or on a GPU: costs are those of all products of batches, with what the
/// choice itself costs. Other than for a single product, it is the energy that a sample shows the errors of.
class BatchMultiplier : public mgemm::Multiplier {
 public:
  /// Why B need not be looked at; empty: it must be.
  virtual std::string too_small() const { return {}; }
  /// B B^T, analysed once; for a given cutoff with that one. Errors: ErrorCode::numerical where B is not finite.
  virtual const mgemm::AnalysedProduct& analysed() = 0;
  /// Bytes that it takes with so many large elements in B, and that there are.
  virtual std::int64_t bytes(const mgemm::SmallWay&, std::int64_t /*large*/) const { return 0; }
  virtual std::int64_t free_bytes() const { return 0; }
  /// |B_ia|^2 of every pair.
  virtual std::vector<double> squares_of_rows() = 0;
  /// Returns SampledEnergyError::error_of_step3. `root`: null where B is exact to double.
  virtual double take_sample(const std::vector<double>& squares, const std::vector<double>* root) = 0;
  /// As SampledEnergyError::errors, with the sample taken.
  virtual SampledErrors errors(const mgemm::SmallWay& way, double delta) = 0;
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
/// by the largest errors that the sample shows, if it costs little more (find_cutoff), unless B is of a split product.
/// A given cutoff takes the form that is expected to be fastest of those whose bound is no worse than that of single
/// precision. `root`: (P|Q)^{-1/2}; `errors`: those of B.
SplitChoice choose_split(const System& system, const std::vector<double>& root, const Step3Errors& errors,
                         const Options& options, BatchMultiplier& multiplier);

/// choose_split() on the CPU (step4.cpp), where small elements are in single precision, for batches of `batch` occupied
/// orbitals. `b`: B as it was made.
SplitChoice choose_split_here(const System& system, const std::vector<double>& root, const std::vector<double>& b,
                              const Step3Errors& errors, const Options& options, std::int64_t batch);

struct StreamedSplit {
  SplitChoice choice;
  std::int64_t most_large = 0;  ///< elements above delta that an orbital has, at most
};

/// The same of a B that passes through memory, twice or, for an automatic cutoff, three times. An automatic cutoff must
/// be certain: a sample would need all of B.
StreamedSplit choose_split_of_orbitals(const System& system, const std::vector<double>& root, const EachOrbital& b,
                                       const Step3Errors& errors, const Options& options, std::int64_t batch);

/// What a multiplier of such a B says to who asks for a sample.
[[noreturn]] void no_sample();

/// Lengths of sums that are worth a trial: shorter than all there are change nothing.
std::vector<std::int64_t> useful_depths(const mgemm::FormTraits& form, std::int64_t auxiliary);

/// A way to multiply B with itself, with a cutoff.
struct SplitWay {
  mgemm::SmallWay way;
  double delta;
  std::int64_t large;  ///< elements of B above delta
  double bound;        ///< of the error of an element of B B^T; infinite where there is none
  double gain;         ///< expected speed over double, with all that the choice costs
};

/// What a cutoff does.
struct CutoffErrors {
  double energy = 0;    ///< Hartree
  double integral = 0;  ///< the largest of an integral, over a tenth of that of single precision
};

/// CutoffErrors::integral for an error `error`, where single precision has `of_single`, which may be infinite.
double over_a_tenth(double error, double of_single);

struct FoundCutoff {
  const SplitWay* way = nullptr;  ///< null: none keeps the target
  CutoffErrors errors;            ///< of it; of the most exact one where there is none
};

/// The first of `all`, the best first, whose error of the energy is at most the target; or, where one more trial shows
/// it at no less than 0.8 of the gain, one that keeps integrals ten times as exact as single precision, too: the best
/// of those whose bounds promise it. Errors are costly to find: the most exact way is tried first, as where it fails no
/// other needs a trial, and where it keeps the target it is there to fall back on; and what bounds of ways of the same
/// form do not promise is not tried.
FoundCutoff find_cutoff(const std::vector<SplitWay>& all, double target,
                        const std::function<CutoffErrors(const SplitWay&)>& errors);

}  // namespace quadrille::ri_mp2
