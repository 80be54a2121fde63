#include "modules/flow/scales.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace quadrille::flow {

namespace {

constexpr double reference = 0.3;

/// Value and derivative at t.
struct Local {
  double value, slope;
};

/// Lagrange's polynomial through four points.
Local cubic(const double* times, const double* values, double t) {
  Local sum{0, 0};
  for (int i = 0; i < 4; ++i) {
    double weight = 1, slope = 0;
    for (int j = 0; j < 4; ++j) {
      if (j == i) continue;
      slope = (slope * (t - times[j]) + weight) / (times[i] - times[j]);
      weight *= (t - times[j]) / (times[i] - times[j]);
    }
    sum.value += weight * values[i];
    sum.slope += slope * values[i];
  }
  return sum;
}

/// The first time at which f(value, slope, t) of the curve rises through `reference`.
template <class F>
std::optional<double> crossing(const std::vector<double>& times, const std::vector<double>& values, const F& f) {
  const std::size_t count = times.size();
  for (std::size_t k = 0; k + 1 < count; ++k) {
    const std::size_t first = std::min(k > 0 ? k - 1 : 0, count - 4);
    const auto above = [&](double t) {
      const Local at = cubic(times.data() + first, values.data() + first, t);
      return f(at, t) >= reference;
    };
    double low = times[k], high = times[k + 1];
    if (above(low) || !above(high)) continue;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = 0.5 * (low + high);
      (above(middle) ? high : low) = middle;
    }
    return 0.5 * (low + high);
  }
  return std::nullopt;
}

}  // namespace

Scales scales(const std::vector<double>& times, const std::vector<double>& energies) {
  Scales found;
  if (times.size() < 4) return found;
  std::vector<double> values;
  for (std::size_t k = 0; k < times.size(); ++k) values.push_back(times[k] * times[k] * energies[k]);
  found.t0 = crossing(times, values, [](const Local& at, double) { return at.value; });
  found.w0 = crossing(times, values, [](const Local& at, double t) { return t * at.slope; });
  if (found.w0) found.w0 = std::sqrt(*found.w0);
  return found;
}

}  // namespace quadrille::flow
