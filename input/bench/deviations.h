// How far the numbers of a result are from those of a reference: their cumulative distribution.
#pragma once

#include "core/host_field.h"
#include "input/bench/extended_hop.h"

#include <cstdint>
#include <vector>

namespace quadrille::bench {

/// |y - y_ref| of every real and imaginary part, over the root mean square of all of these parts of the reference: a
/// measure that elements near zero do not blow up, and that is of the order of a format's rounding unit.
class Deviations {
 public:
  /// Errors: ErrorCode::internal when the sizes differ, ErrorCode::numerical when a number is not finite.
  Deviations(const HostSpinor& result, const std::vector<Extended>& reference);

  /// How many numbers were compared.
  std::int64_t count() const { return std::int64_t(sorted_.size()); }
  /// How many deviate by epsilon at most.
  std::int64_t at_most(double epsilon) const;
  /// The deviation that a fraction q of the numbers does not exceed: 0 gives the smallest, 1 the largest.
  double quantile(double q) const;

  struct Point {
    double epsilon;
    std::int64_t at_most;
  };
  /// at_most() at `per_decade` logarithmic steps a decade, from the last step below the smallest deviation that is not
  /// 0 to the first that all numbers stay within; none when all deviations are 0.
  std::vector<Point> curve(int per_decade) const;

 private:
  std::vector<double> sorted_;
};

}  // namespace quadrille::bench
