// The choice of how a product is done, wherever that is: the form of its small elements, the cutoff, the length of
// sums, and whether to split it at all.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/error_bound.h"
#include "modules/mgemm/product/mgemm.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::mgemm {

/// A way to multiply the small elements: in sums of `depth` terms.
struct SmallWay {
  const FormTraits* form;
  std::int64_t depth;
};

/// Who multiplies, as the choice sees it: what there is to try, how far off that may be, and what it costs.
class QUADRILLE_API Multiplier {
 public:
  virtual ~Multiplier() = default;
  /// Of each list the first that meets the requirement with the smallest cutoff is a candidate.
  virtual std::vector<std::vector<SmallWay>> ways() const = 0;
  /// Of the product with cutoff number `cutoff`.
  virtual ErrorBound bound(const SmallWay& way, std::size_t cutoff) const = 0;
  /// The error that a sample shows of what has that bound. Of a multiplier whose cutoffs may be measured.
  virtual double measured(const SmallWay& way, std::size_t cutoff, const ErrorBound& bound);
  /// In any unit: of the product in double, of a split one, and of an analysis that is not in these.
  virtual double plain() const = 0;
  virtual double split(const SmallWay& way, const LargeCounts& large) const = 0;
  virtual double analysis() const { return 0; }
};

/// Where profiles come from: of a sample (magnitude_sample.h), an analysis is still to come and counts; of that it is
/// done, and a split is taken that is faster than double from there on.
enum class Known { sampled, analysed };

/// Of all candidates, each with the largest cutoff of the profiles that meets the requirement, the one that costs
/// least; double where there is none, or where that is faster. The requirement: of an automatic cutoff its target
/// error; of a given one what the form `single` with its usual depth keeps; of a given cutoff and form, that there is a
/// bound. Fills in all of the report but `panel_bytes`.
QUADRILLE_API MgemmReport choose(Multiplier& multiplier, const AnalysedProduct& product, Known known,
                                 const Cutoff& cutoff, const MgemmOptions& options);

/// The quantile of magnitudes below which no cutoff is sought: twice as many elements may be listed as are above it.
constexpr double cutoff_quantile = 1 - most_listed / 2;

/// The cutoffs to look at: a given one alone; of an automatic one the power of two that is not below `quantile`, of
/// which cutoff_quantile it is in A and B (0 where that is 0 or not finite), and its doubles up to the first that
/// leaves no large element.
QUADRILLE_API std::vector<double> cutoffs_of(const Cutoff& cutoff, double quantile, double largest_magnitude);

/// Why a product need not be looked at; empty: it must be. `least`: m n k below which it is done in double.
QUADRILLE_API std::string too_small(const ProductShape& shape, double least, const MgemmOptions& options);

/// The report of a product that is done in double after all.
QUADRILLE_API void report_double(std::string reason, double bound, MgemmReport& report);

/// Terms of sums where nothing asks for others: matrix units cut sums, which must be shorter for the same error.
QUADRILLE_API std::int64_t usual_depth(const FormTraits& form);

}  // namespace quadrille::mgemm
