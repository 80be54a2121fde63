#include "modules/mgemm/choice/error_bound.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

namespace quadrille::mgemm {
namespace {

/// A 2-norm from a sum of `terms` squares that was itself rounded: at least the exact one.
double norm_from_squares(double squares, double terms) {
  return std::sqrt(squares * (1 + gamma_bound(terms + 4, double_roundoff)) + terms * DBL_MIN) *
         (1 + 4 * double_roundoff);
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

LineNorms line_norms(const FactorProfile& profile, std::size_t cutoff, std::int64_t k) {
  const CutoffExtremesOfLines& most = profile.extremes[cutoff];
  double all = norm_from_squares(most.all_squares, double(k));
  if (!std::isfinite(all)) all = std::sqrt(double(k)) * profile.max_abs * (1 + 4 * double_roundoff);
  return {norm_from_squares(most.small_squares, double(k)), all};
}

ErrorBound error_bound(const AnalysedProduct& product, std::size_t cutoff, std::int64_t depth) {
  const auto& [shape, a, b, swapped] = product;
  const double delta = a.deltas[cutoff], small_a = std::min(delta, a.max_abs), small_b = std::min(delta, b.max_abs);
  const LineNorms of_a = line_norms(a, cutoff, shape.k), of_b = line_norms(b, cutoff, shape.k);
  const double small = of_a.small * of_b.small, all = of_a.all * of_b.all;
  // Sums of single precision must stay in its range, with room for rounding.
  if (!(small < FLT_MAX / 4) || small_a > FLT_MAX || small_b > FLT_MAX) return {infinity, infinity, infinity, infinity};
  const double k = double(shape.k);
  const double n = double(std::min(depth, shape.k)) + 2;
  const double single_gamma = gamma_bound(n, single_roundoff);
  const double roundings = k + 2 * double(a.extremes[cutoff].most_large + b.extremes[cutoff].most_large) + 8;
  const double rest =
      (1 + single_gamma) * gamma_bound(roundings, double_roundoff) * all + k * 0x1p-149 * (1 + small_a + small_b);
  ErrorBound bound{single_gamma * small + rest, probable_gamma(n, shape) * small + rest, small, rest};
  bound.probable = std::min(bound.probable, bound.certain);
  return bound;
}

double double_error_bound(std::int64_t k, double max_a, double max_b) {
  return gamma_bound(double(k) + 2, double_roundoff) * double(k) * max_a * max_b + double(k) * DBL_TRUE_MIN;
}

}  // namespace quadrille::mgemm
