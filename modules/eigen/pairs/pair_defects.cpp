#include "modules/eigen/pairs/pair_defects.h"

#include "modules/eigen/lapack.h"
#include "modules/eigen/pairs/exact_products.h"
#include "modules/eigen/triangle.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

namespace quadrille::eigen {
namespace {

constexpr double unit = std::numeric_limits<double>::epsilon();
constexpr double of_rounding = 4 * unit;
constexpr double share_of_others = 0.01;  ///< in pairs that are looked at, of those that are not

template <class T>
double sum_of_sizes(std::int64_t n, const T* x) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::abs(x[i]);
  return sum;
}

template <class T>
double largest_of(std::int64_t n, const T* x) {
  double most = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, magnitude(x[i]));
  return most;
}

template <class T>
double length_of(std::int64_t n, const T* x) {
  const double most = largest_of(n, x);
  if (most == 0) return 0;
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::norm(x[i] / most);
  return most * std::sqrt(sum);
}

bool has(IndexRange range, std::int64_t j) { return j >= range.first && j < range.first + range.count; }

}  // namespace

template <class T>
bool View<T>::mix(const std::vector<double>& values, std::int64_t i, std::int64_t j, double share) const {
  const auto n = std::int64_t(values.size());
  const double apart = std::abs(values[std::size_t(i)] - values[std::size_t(j)]);
  return i != j && std::abs(w[std::size_t(i + (j - active.first) * n)]) > share * apart;
}

template <class T>
Defective<T>::Defective(const SolvedProblem<T>& problem, IndexRange wanted) : p_(problem), wanted_(wanted) {
  for (std::int64_t j = 0; j < p_.n; ++j) {
    a_norm_ = std::max(a_norm_, sum_of_sizes(p_.n, p_.a + j * p_.n));
    b_norm_ = std::max(b_norm_, p_.b == nullptr ? 1 : sum_of_sizes(p_.n, p_.b + j * p_.n));
  }
  squares_.resize(std::size_t(p_.n));
  std::vector<T> ax(std::size_t(p_.n * std::min(columns_looked_at, p_.n)));
  for (std::int64_t first = 0; first < p_.n; first += columns_looked_at) {
    const std::int64_t width = std::min(columns_looked_at, p_.n - first);
    lapack::multiply(p_.n, p_.n, width, p_.a, p_.n, p_.vector(first), p_.n, ax.data(), p_.n);
    for (std::int64_t k = 0; k < width; ++k) {
      for (std::int64_t i = 0; i < p_.n; ++i) squares_[std::size_t(i)] += std::norm(ax[std::size_t(i + k * p_.n)]);
    }
  }
}

/// What rounding of vector j alone leaves, but for the rounding.
template <class T>
double Defective<T>::scale(std::int64_t j) const {
  return (a_norm_ + std::abs(p_.values[std::size_t(j)]) * b_norm_) * sum_of_sizes(p_.n, p_.vector(j));
}

/// The typical |r| in the norm of B^-1 where each number of x_j, and lambda_j, has a random error of its rounding:
/// (A - lambda B) e_k has the square (A B^-1 A - 2 lambda A + lambda^2 B)_kk.
template <class T>
double Defective<T>::left_by_rounding(std::int64_t j) const {
  constexpr double square_of_error = unit * unit / 12;
  const double value = p_.values[std::size_t(j)];
  double sum = value * value;
  for (std::int64_t k = 0; k < p_.n; ++k) {
    const std::size_t diagonal = std::size_t(k * (p_.n + 1));
    const double a = std::real(p_.a[diagonal]), b = p_.b == nullptr ? 1 : std::real(p_.b[diagonal]);
    sum += std::norm(p_.vector(j)[k]) * std::max(0.0, squares_[std::size_t(k)] - 2 * value * a + value * value * b);
  }
  return std::sqrt(square_of_error * sum);
}

/// Bits of products beyond which neither residuals nor Rayleigh quotients have an error that counts.
template <class T>
double Defective<T>::bits(IndexRange active) const {
  constexpr double fewest = 66;
  double out = fewest;
  for (std::int64_t j = active.first; j < active.first + active.count; ++j) {
    const double error = scale(j) * largest_of(p_.n, p_.vector(j)), value = std::abs(p_.values[std::size_t(j)]);
    if (error > 0) out = std::max(out, value > 0 ? 56 + std::log2(error / value) : most_bits);
  }
  return std::min(out, most_bits);
}

template <class T>
void Defective<T>::measure(std::int64_t j, const T* w, const T* g, View<T>& view) const {
  constexpr double bad = std::numeric_limits<double>::infinity();
  Defects& to = view.defects;
  const double length = length_of(p_.n, w);
  if (length > 0) {
    to.defect = std::max(to.defect, length / scale(j));
    view.excess = std::max(view.excess, length / left_by_rounding(j));
  }
  double sum = 0;
  for (std::int64_t i = wanted_.first; i < wanted_.first + wanted_.count; ++i) sum += std::abs(g[i] - T(i == j));
  to.orthogonality = std::max(to.orthogonality, sum / double(p_.n));
  if (!std::isfinite(sum_of_sizes(p_.n, w)) || !std::isfinite(sum)) to.defect = to.orthogonality = bad;  // also NaN
}

template <class T>
View<T> Defective<T>::look_at(IndexRange active) const {
  const std::int64_t n = p_.n;
  View<T> view;
  view.active = active;
  view.w.resize(std::size_t(n * active.count));
  view.g.resize(view.w.size());
  const ResidualWork<T> work{n, p_.a, p_.b, slices_for<T>(n, bits(active))};
  std::vector<T> r(std::size_t(n * std::min(columns_looked_at, active.count))), bx(r.size());
  double residual = 0, size = 0, longest_x = 0, longest_bx = 0;
  for (std::int64_t first = 0; first < active.count; first += columns_looked_at) {
    const std::int64_t width = std::min(columns_looked_at, active.count - first), from = active.first + first;
    work.run(width, p_.vector(from), p_.values.data() + from, r.data(), bx.data());
    T *const w = view.w.data() + first * n, *const g = view.g.data() + first * n;
    lapack::multiply_adjoint(n, n, width, p_.vectors.data(), n, r.data(), n, w, n);
    lapack::multiply_adjoint(n, n, width, p_.vectors.data(), n, bx.data(), n, g, n);
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t j = from + k, at = j + k * n;
      view.shifts.push_back(std::real(w[at]) / std::real(g[at]));
      if (!has(wanted_, j)) continue;
      residual = std::max(residual, sum_of_sizes(n, r.data() + k * n));
      size = std::max(size, sum_of_sizes(n, p_.vector(j)));
      const double of_x = length_of(n, p_.vector(j)), of_bx = length_of(n, bx.data() + k * n);
      longest_x = std::max(longest_x, of_x);
      longest_bx = std::max(longest_bx, of_bx);
      view.rounding = std::max(view.rounding, of_rounding * of_x * of_bx);
      measure(j, w + k * n, g + k * n, view);
    }
  }
  view.rounding_of_all = of_rounding * longest_x * longest_bx;
  const double whole = a_norm_ * size * double(n);
  view.defects.residual = whole > 0 ? residual / whole : residual;
  return view;
}

template <class T>
View<T> Defective<T>::look(IndexRange active) const {
  for (;;) {
    View<T> view = look_at(active);
    std::int64_t low = active.first, end = active.first + active.count;
    for (std::int64_t j = active.first; j < active.first + active.count; ++j) {
      for (std::int64_t i = 0; i < low; ++i) {
        if (view.mix(p_.values, i, j, share_of_others)) low = i;
      }
      for (std::int64_t i = p_.n; i > end; --i) {
        if (view.mix(p_.values, i - 1, j, share_of_others)) end = i;
      }
    }
    if (low == active.first && end == active.first + active.count) return view;
    active = {low, end - low};
  }
}

template struct View<double>;
template struct View<std::complex<double>>;
template class Defective<double>;
template class Defective<std::complex<double>>;

}  // namespace quadrille::eigen
