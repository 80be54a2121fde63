#include "modules/mgemm/error_bound.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

namespace quadrille::mgemm {
namespace {

constexpr double single_roundoff = 0x1p-24, double_roundoff = 0x1p-53;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// The largest 2-norm of a row, of its small elements and of all, and the most large elements in one.
struct RowExtremes {
  double small = 0, all = 0;
  std::int64_t large = 0;
};

/// A 2-norm from a sum of `terms` squares that was itself rounded: at least the exact one.
double norm_from_squares(double squares, std::int64_t terms) {
  const double n = double(terms);
  return std::sqrt(squares * (1 + gamma_bound(n + 4, double_roundoff)) + n * DBL_MIN) * (1 + 4 * double_roundoff);
}

RowExtremes row_extremes(const MagnitudeProfile& profile, double delta, std::int64_t k, double max_abs) {
  std::vector<double> small = profile.row_squares;
  std::vector<double> large(small.size());
  std::vector<std::int64_t> counts(small.size());
  for (const MagnitudeProfile::Larger& e : profile.larger) {
    const std::size_t row = std::size_t(e.row);
    if (e.magnitude <= delta) {
      small[row] += e.magnitude * e.magnitude;
    } else {
      large[row] += e.magnitude * e.magnitude;
      ++counts[row];
    }
  }
  RowExtremes most;
  for (std::size_t row = 0; row < small.size(); ++row) {
    most.small = std::max(most.small, small[row]);
    most.all = std::max(most.all, small[row] + large[row]);
    most.large = std::max(most.large, counts[row]);
  }
  most.small = norm_from_squares(most.small, k);
  most.all = norm_from_squares(most.all, k);
  if (!profile.listed) {
    most.all = std::sqrt(double(k)) * max_abs * (1 + 4 * double_roundoff);
    most.large = k;
  }
  return most;
}

}  // namespace

double gamma_bound(double n, double unit_roundoff) {
  const double nu = n * unit_roundoff;
  return nu < 1 ? nu / (1 - nu) * (1 + 4 * double_roundoff) : infinity;
}

double probable_gamma(double n, const ProductShape& shape) {
  constexpr double u = single_roundoff, failure = 1e-6;
  const double roundings = 2 * (double(shape.k) + 2) * double(shape.m) * double(shape.n);
  const double lambda = std::sqrt(2 * std::log(roundings / failure)) / (1 - u);
  return std::expm1(lambda * std::sqrt(n) * u + n * u * u / (1 - u));
}

ErrorBound error_bound(const ProductProfile& profile, double delta, std::int64_t depth) {
  const ProductShape& shape = profile.shape;
  const double small_a = std::min(delta, profile.max_a), small_b = std::min(delta, profile.max_b);
  const RowExtremes a = row_extremes(profile.a, delta, shape.k, profile.max_a);
  const RowExtremes b = row_extremes(profile.b, delta, shape.k, profile.max_b);
  const double small = a.small * b.small, all = a.all * b.all;
  // Sums of single precision must stay in its range, with room for rounding.
  if (!(small < FLT_MAX / 4) || small_a > FLT_MAX || small_b > FLT_MAX) return {infinity, infinity, infinity, infinity};
  const double k = double(shape.k);
  const double n = double(std::min(depth, shape.k)) + 2;
  const double single_gamma = gamma_bound(n, single_roundoff);
  const double roundings = k + 2 * double(a.large + b.large) + 8;
  const double rest =
      (1 + single_gamma) * gamma_bound(roundings, double_roundoff) * all + k * 0x1p-149 * (1 + small_a + small_b);
  ErrorBound bound{single_gamma * small + rest, probable_gamma(n, shape) * small + rest, small, rest};
  bound.probable = std::min(bound.probable, bound.certain);
  return bound;
}

double double_error_bound(std::int64_t k, double max_a, double max_b) {
  return gamma_bound(double(k) + 2, double_roundoff) * double(k) * max_a * max_b + double(k) * DBL_TRUE_MIN;
}

LargeCounts count_large(const ProductProfile& profile, double delta) {
  const auto count = [delta](const MagnitudeProfile& p) {
    if (delta == p.delta) return p.count;
    return std::int64_t(std::count_if(p.larger.begin(), p.larger.end(),
                                      [delta](const MagnitudeProfile::Larger& e) { return e.magnitude > delta; }));
  };
  return {count(profile.a), count(profile.b)};
}

}  // namespace quadrille::mgemm
