#include "modules/mgemm/choice/form_bound.h"

#include "modules/mgemm/choice/device_cost.h"
#include "modules/shared/dense/narrow_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille::mgemm {
namespace {

/// A factor in the measure of the header.
struct Measures {
  double unit, norm, all;
};

Measures measure(const FactorProfile& profile, std::size_t cutoff, const FormTraits& form, std::int64_t k) {
  const LineNorms norms = line_norms(profile, cutoff, k);
  return {std::ldexp(1.0, unit_exponent(form, profile.deltas[cutoff], profile.max_abs)), norms.small, norms.all};
}

double digits_error(const FormTraits& form, const Measures& a, const Measures& b, double k) {
  const int parts = form.parts;
  const double root = std::sqrt(k), ta = std::ldexp(a.unit, 1 - 8 * parts), tb = std::ldexp(b.unit, 1 - 8 * parts);
  const double left_out = k * a.unit * b.unit * (parts - 1) * std::ldexp(1 + 0x1p-7, 2 - 8 * parts);
  return (ta * root * b.norm + tb * root * a.norm + k * ta * tb + left_out) * (1 + 0x1p-40);
}

struct SumErrors {
  double certain, probable;
};

/// Relative errors of a sum of `terms` products, in calls of cuBLAS that are added up `calls` times.
SumErrors sum_errors(const FormTraits& form, const ProductShape& shape, std::int64_t terms, std::int64_t calls) {
  const double added = 3 * double(calls);
  const auto both = [](double x, double y) { return x + y + x * y; };
  const double later = gamma_bound(added, single_roundoff);
  if (form.truncates) {
    const double certain = both(gamma_bound(3 * double(terms), single_roundoff), later);
    return {certain, certain};
  }
  const double n = double(terms);
  return {both(gamma_bound(n, single_roundoff), later),
          std::min(both(gamma_bound(n, single_roundoff), later), probable_gamma(n + added, shape))};
}

ErrorBound parts_error(const FormTraits& form, const ProductShape& shape, const Measures& a, const Measures& b,
                       std::int64_t depth) {
  const double k = double(shape.k), root = std::sqrt(k);
  const double s = std::ldexp(1 + std::ldexp(1.0, 2 - form.significant_bits), -form.significant_bits);
  const double ta = form.tiny * a.unit, tb = form.tiny * b.unit, sum = a.norm * b.norm;
  const double cross = root * (ta * b.norm + tb * a.norm);
  // A product of parts below `tiny` may vanish.
  const double tinies = 2 * (1 + s) * cross + 4 * k * ta * tb + k * form.tiny * a.unit * b.unit;
  const auto of_order = [&](int order) { return (1 + s) * (1 + s) * std::pow(s, order) * sum + tinies; };
  const double rest = std::pow(s, form.parts);
  double error = (2 * rest + rest * rest) * sum + (1 + rest) * cross + k * ta * tb, probable = error;
  for (int order = form.parts; order <= 2 * form.parts - 2; ++order) {
    error += (2 * form.parts - 1 - order) * of_order(order);
  }
  probable = error;
  const std::int64_t padded = padded_length(shape.k), calls = dense_calls(form, depth, padded);
  for (int order = 0; order < form.parts; ++order) {
    const std::int64_t terms = std::min((order + 1) * padded, depth_of_order(form, depth, order));
    const SumErrors sums = sum_errors(form, shape, terms, calls);
    error += sums.certain * (order + 1) * of_order(order) + (order + 1) * tinies;
    probable += sums.probable * (order + 1) * of_order(order) + (order + 1) * tinies;
  }
  return {error * (1 + 0x1p-40), std::min(error, probable) * (1 + 0x1p-40)};
}

}  // namespace

int unit_exponent(const FormTraits& form, double delta, double max_abs) {
  return narrow::exponent_above(std::min(delta, max_abs)) - std::ilogb(form.largest);
}

ErrorBound form_error_bound(const AnalysedProduct& product, std::size_t cutoff, const FormTraits& form,
                            std::int64_t depth) {
  const auto& [shape, a, b, swapped] = product;
  const double k = double(shape.k);
  const Measures of_a = measure(a, cutoff, form, shape.k), of_b = measure(b, cutoff, form, shape.k);
  ErrorBound bound;
  if (form.integer) {
    bound.certain = bound.probable = digits_error(form, of_a, of_b, k);
  } else {
    bound = parts_error(form, shape, of_a, of_b, depth);
  }
  // Sums in double: the sparse products, and the parts of the result that are added up.
  const double panels = k / double(shortest_split_panel) + 1;
  const double merges =
      form.integer ? double(dense_calls(form, depth, padded_length(shape.k))) + form.parts * panels : panels;
  const double roundings =
      k + 2 * double(a.extremes[cutoff].most_large + b.extremes[cutoff].most_large) + 4 * merges + 8;
  const double magnitudes = of_a.all * of_b.all + bound.certain;
  const double rest = gamma_bound(roundings, double_roundoff) * magnitudes + k * 0x1p-1060;
  bound.certain += rest;
  bound.probable += rest;
  if (!std::isfinite(bound.certain)) return {infinity, infinity};
  return bound;
}

std::int64_t depth_of_order(const FormTraits& form, std::int64_t depth, int order) {
  if (form.integer) return longest_integer_sum;
  const std::int64_t longer = depth << std::max(0, form.significant_bits * order - 3);
  return std::max<std::int64_t>(64, std::min<std::int64_t>(longer, std::int64_t(1) << 30) / 64 * 64);
}

std::int64_t dense_calls(const FormTraits& form, std::int64_t depth, std::int64_t padded) {
  std::int64_t calls = 0;
  for (int order = 0; order < form.parts; ++order) {
    const std::int64_t terms = depth_of_order(form, depth, order);
    calls += ((order + 1) * padded + terms - 1) / terms;
  }
  return calls;
}

}  // namespace quadrille::mgemm
