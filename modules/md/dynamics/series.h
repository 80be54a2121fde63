// What a series of numbers in time says: a straight line with its error.
#pragma once

#include "core/api.h"

#include <cstddef>
#include <optional>
#include <span>

namespace quadrille::md {

struct Trend {
  double slope = 0;
  std::optional<double> slope_error;  ///< none of fewer than least_values
  std::optional<double> fluctuation;  ///< root mean square distance from the line; none of fewer than least_values

  /// A line goes through two values, and nearly through three.
  static constexpr std::size_t least_values = 4;
};

/// Least squares of `values` at `times`. The error of the slope comes from the means of up to 20 blocks, whose
/// correlations are small where each is longer than those of the series.
QUADRILLE_API Trend trend_of(std::span<const double> times, std::span<const double> values);

}  // namespace quadrille::md
