// What a few elements of a factor tell of all: where cutoffs may begin, and whether an analysis is worth its while.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/form_bound.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quadrille::mgemm {

class QUADRILLE_API MagnitudeSample {
 public:
  /// |x| of elements spread over `lines` lines of `length` elements.
  MagnitudeSample(std::vector<double> magnitudes, std::int64_t lines, std::int64_t length);

  bool finite() const;
  /// Not a number where one of them is none.
  double largest() const { return largest_; }
  /// The magnitude below or at which this fraction lies; what is not a number is above all others.
  double quantile(double fraction) const;
  /// What an analysis would find for these rising cutoffs, if all lines were alike. Bounds of errors that follow from
  /// it are as a rule below those of the analysis, which knows the worst line.
  FactorProfile profile(const std::vector<double>& deltas) const;

 private:
  std::vector<double> magnitudes_;
  double lines_, length_, largest_;
};

/// Of a factor of `total` elements one of each so many is looked at.
inline std::int64_t sample_step(std::int64_t total) { return std::max<std::int64_t>(1, total >> 12); }

}  // namespace quadrille::mgemm
