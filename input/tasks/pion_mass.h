// The mass of the pion in a correlator, and where its square vanishes.
//
// Everything here is of one configuration: spreads and errors say how well a form fits, not how the gauge field
// fluctuates.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <vector>

namespace quadrille {

/// A number, and how far off the form that gave it may be.
struct Estimate {
  double value = 0;
  double spread = 0;
};

/// m_eff(t) for t = 0 .. T/2 - 1 after the source, from C(t) / C(t + 1) = cosh(m (t - T/2)) / cosh(m (t + 1 - T/2)) of
/// the correlator folded about T/2. NaN where the correlator is not positive or does not fall.
/// `correlator` holds an even number of absolute times.
std::vector<double> effective_masses(const std::vector<double>& correlator, int source_time);

/// The same as JSON, null where it is not a number.
nlohmann::ordered_json effective_mass_json(const std::vector<double>& correlator, int source_time);

/// The mean of m_eff(t) over first <= t < last, with half of the difference of the largest and the smallest as spread.
/// Empty when one of them is not a number. 0 <= first < last <= T/2.
std::optional<Estimate> pion_mass(const std::vector<double>& correlator, int source_time, int first, int last);

/// y = slope (x - zero).
struct LineThroughZero {
  double slope = 0;
  Estimate zero;
  double deviation = 0;  ///< the largest |y - slope (x - zero)| of the points
};

/// The straight line of least squares through y(x), all points of one weight. The spread of `zero` joins in quadrature
/// the standard error that the residuals give (three or more points) and what the spreads of y make of it.
/// Empty for fewer than two different x or a slope that is not positive.
std::optional<LineThroughZero> line_through_zero(const std::vector<double>& x, const std::vector<Estimate>& y);

}  // namespace quadrille
