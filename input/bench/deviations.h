// How far the numbers of a result are from those of a reference: their cumulative distribution.
#pragma once

#include "core/field/host_field.h"
#include "input/bench/extended_hop.h"

#include <cstddef>
#include <vector>

namespace quadrille::bench {

/// |y - y_ref| of every real and imaginary part, over the root mean square of all of these parts of the reference: a
/// measure that elements near zero do not blow up, and that is of the order of a format's rounding unit.
class Deviations {
 public:
  /// Errors: ErrorCode::internal when the sizes differ, ErrorCode::numerical when a number is not finite.
  Deviations(const HostSpinor& result, const std::vector<Extended>& reference);

  /// How many numbers were compared.
  std::size_t count() const { return sorted_.size(); }
  /// The smallest deviation that is not 0, where the curve begins; 0 when all are. Of n numbers with rounding errors it
  /// is about 2/n of the median, so it tells of n as much as of the format.
  double smallest() const;
  /// The deviation that a fraction q of the numbers does not exceed: 0.5 gives the median, 1 the largest.
  double quantile(double q) const;

  struct Point {
    double epsilon, fraction;
  };
  /// The fraction of numbers that deviate by epsilon at most, at `per_decade` logarithmic steps a decade: from the last
  /// step below smallest() to the first that all numbers stay within; none when all deviations are 0.
  std::vector<Point> curve(int per_decade) const;

 private:
  std::vector<double> sorted_;
};

}  // namespace quadrille::bench
