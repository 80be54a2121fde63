#include "input/tasks/pion_mass.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille {

namespace {

constexpr double no_mass = std::numeric_limits<double>::quiet_NaN();

/// log(cosh(a) / cosh(b)) without overflow.
double log_cosh_ratio(double a, double b) {
  a = std::abs(a);
  b = std::abs(b);
  return a - b + std::log1p(std::exp(-2 * a)) - std::log1p(std::exp(-2 * b));
}

/// m > 0 with log cosh(m n) - log cosh(m (n - 1)) = y for n >= 1. The left side grows with m, from 0 and beyond any y.
double solve_mass(double n, double y) {
  double low = 0, high = 1;
  while (log_cosh_ratio(high * n, high * (n - 1)) < y) high *= 2;
  for (int k = 0; k < 200 && high - low > 1e-16 * high; ++k) {
    const double middle = 0.5 * (low + high);
    (log_cosh_ratio(middle * n, middle * (n - 1)) < y ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

std::vector<double> effective_masses(const std::vector<double>& correlator, int source_time) {
  const int extent = int(correlator.size()), half = extent / 2;
  const auto folded = [&](int t) {
    const auto at = [&](int k) { return correlator[std::size_t(((source_time + k) % extent + extent) % extent)]; };
    return 0.5 * (at(t) + at(-t));
  };
  std::vector<double> out;
  for (int t = 0; t < half; ++t) {
    const double now = folded(t), next = folded(t + 1);
    const bool falls = now > 0 && next > 0 && now > next && std::isfinite(now);
    out.push_back(falls ? solve_mass(half - t, std::log(now / next)) : no_mass);
  }
  return out;
}

nlohmann::ordered_json effective_mass_json(const std::vector<double>& correlator, int source_time) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const double m : effective_masses(correlator, source_time)) {
    out.push_back(std::isnan(m) ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(m));
  }
  return out;
}

std::optional<Estimate> pion_mass(const std::vector<double>& correlator, int source_time, int first, int last) {
  const std::vector<double> masses = effective_masses(correlator, source_time);
  double sum = 0, least = masses[std::size_t(first)], most = least;
  for (int t = first; t < last; ++t) {
    const double mass = masses[std::size_t(t)];
    if (std::isnan(mass)) return {};
    sum += mass;
    least = std::min(least, mass);
    most = std::max(most, mass);
  }
  return Estimate{sum / (last - first), 0.5 * (most - least)};
}

std::optional<LineThroughZero> line_through_zero(const std::vector<double>& x, const std::vector<Estimate>& y) {
  const double n = double(x.size());
  double x_mean = 0, y_mean = 0, xx = 0, xy = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    x_mean += x[k] / n;
    y_mean += y[k].value / n;
  }
  for (std::size_t k = 0; k < x.size(); ++k) {
    xx += (x[k] - x_mean) * (x[k] - x_mean);
    xy += (x[k] - x_mean) * (y[k].value - y_mean);
  }
  if (!(xx > 0) || !(xy > 0)) return {};
  LineThroughZero line;
  line.slope = xy / xx;
  line.zero.value = x_mean - y_mean / line.slope;
  double left = 0, spreads = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double off = y[k].value - line.slope * (x[k] - line.zero.value);
    left += off * off;
    line.deviation = std::max(line.deviation, std::abs(off));
    // d zero / d y_k
    const double weight = -(1 / n + (line.zero.value - x_mean) * (x[k] - x_mean) / xx) / line.slope;
    spreads += weight * weight * y[k].spread * y[k].spread;
  }
  const double lever = 1 / n + (line.zero.value - x_mean) * (line.zero.value - x_mean) / xx;
  const double scatter = n > 2 ? left / (n - 2) * lever / (line.slope * line.slope) : 0;
  line.zero.spread = std::sqrt(scatter + spreads);
  return line;
}

}  // namespace quadrille
