// What a series of numbers in time says: a straight line with its error.
#pragma once

#include "core/api.h"

#include <span>

namespace quadrille::md {

struct Trend {
  double slope = 0, slope_error = 0;  ///< the error 0 where there are fewer than 4 blocks
  double fluctuation = 0;             ///< root mean square distance from the line
};

/// Least squares of `values` at `times`. The error of the slope comes from the means of up to 20 blocks, whose
/// correlations are small where each is longer than those of the series.
QUADRILLE_API Trend trend_of(std::span<const double> times, std::span<const double> values);

}  // namespace quadrille::md
