#include "modules/eigen/pairs/refinement.h"

#include "modules/eigen/lapack.h"
#include "modules/eigen/pairs/clusters.h"
#include "modules/eigen/pairs/exact_products.h"
#include "modules/eigen/pairs/pair_defects.h"
#include "modules/eigen/triangle.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <utility>

namespace quadrille::eigen {
namespace {

constexpr double largest_entry = 0.3;  ///< a larger one is left to the next step

/// How wrong pairs are, in one number; what rounding leaves is nothing.
template <class T>
double figure(const View<T>& of) {
  return std::max(of.excess, View<T>::rounded_excess) * std::max(of.defects.orthogonality, of.rounding);
}

/// Active rows of G := H, which is what G is beyond 1.
template <class T>
void take_one_away(View<T>& view, std::int64_t n) {
  const std::int64_t first = view.active.first;
  for (std::int64_t j = 0; j < view.active.count; ++j) {
    for (std::int64_t i = 0; i <= j; ++i) {
      T& upper = view.g[std::size_t(first + i + j * n)];
      T& lower = view.g[std::size_t(first + j + i * n)];
      upper = 0.5 * (upper + conjugate(lower)) - T(i == j);
      lower = conjugate(upper);
    }
  }
}

/// W := E, the shares of all vectors in the turned active ones, 0 in the same cluster: x_j + sum_i x_i e_ij is better.
/// Active ones that are too near to each other are made orthogonal alone.
template <class T>
void make_shares(View<T>& view, const std::vector<Cluster<T>>& clusters, const std::vector<double>& values) {
  const auto n = std::int64_t(values.size());
  const IndexRange active = view.active;
  std::vector<std::size_t> cluster_of(std::size_t(n), clusters.size());
  for (std::size_t k = 0; k < clusters.size(); ++k) {
    for (const std::int64_t j : clusters[k].members) cluster_of[std::size_t(active.first + j)] = k;
  }
  const auto value = [&](std::int64_t i) { return values[std::size_t(i)]; };
  const auto is_small = [](const T& share) { return std::abs(share) <= largest_entry; };
  for (std::int64_t j = active.first; j < active.first + active.count; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      T& share = view.w[std::size_t(i + (j - active.first) * n)];
      const std::size_t other = cluster_of[std::size_t(i)];
      share = other == cluster_of[std::size_t(j)] ? T(0) : share / (value(j) - value(i));
      if (other == clusters.size() && !is_small(share)) share = 0;
    }
  }
  for (std::int64_t j = active.first; j < active.first + active.count; ++j) {
    for (std::int64_t i = active.first; i < j; ++i) {
      if (cluster_of[std::size_t(i)] == cluster_of[std::size_t(j)]) continue;
      const bool first_is_larger = std::abs(value(i)) >= std::abs(value(j));
      const std::int64_t row = first_is_larger ? i : j, column = first_is_larger ? j : i;
      const auto place = std::size_t(row + (column - active.first) * n),
                 mirrored = std::size_t(column + (row - active.first) * n);
      T &share = view.w[place], &other = view.w[mirrored];
      if (!is_small(share)) share = -0.5 * view.g[place];
      // Of eigenvalues of one size H says what makes them orthogonal better than W, of others worse.
      const bool of_one_size = std::abs(value(i) - value(j)) < std::abs(value(row)) / 10;
      if (of_one_size || !is_small(other)) other = -conjugate(share) - view.g[mirrored];
    }
  }
}

/// K of (1 + E)^H (1 + H) (1 + E) = 1 + K, which is of second order, as E + E^H + H = 0 among the active ones; m x m.
template <class T>
std::vector<T> what_shares_leave(const View<T>& view, std::int64_t n) {
  const std::int64_t m = view.active.count, first = view.active.first;
  std::vector<T> sum(view.w.size()), k(std::size_t(m * m));
  lapack::multiply(n, m, m, view.g.data(), n, view.w.data() + first, n, sum.data(), n);  // H E
  std::vector<T> of_active(k.size());
  for (std::int64_t j = 0; j < m; ++j) {
    std::copy_n(sum.data() + first + j * n, m, of_active.data() + j * m);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto place = std::size_t(i + j * n);
      // Products of shares of others with H are there twice; the mean below takes half of them.
      const double times = i >= first && i < first + m ? 1 : 2;
      sum[place] = view.w[place] + times * (view.g[place] + sum[place]);
    }
  }
  lapack::multiply_adjoint(m, n, m, view.w.data(), n, sum.data(), n, k.data(), m);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] += of_active[i];
  for (std::int64_t j = 0; j < m; ++j) {
    for (std::int64_t i = j; i < m; ++i) {
      T& lower = k[std::size_t(i + j * m)];
      T& upper = k[std::size_t(j + i * m)];
      lower = 0.5 * (lower + conjugate(upper));
      upper = conjugate(lower);
    }
  }
  return k;
}

/// Active pairs from the one whose eigenvalue is nearest to 0.
std::vector<std::int64_t> from_smallest(IndexRange active, const std::vector<double>& values) {
  std::vector<std::int64_t> out(std::size_t(active.count));
  std::iota(out.begin(), out.end(), std::int64_t(0));
  const auto size = [&](std::int64_t j) { return std::abs(values[std::size_t(active.first + j)]); };
  std::stable_sort(out.begin(), out.end(), [&](std::int64_t i, std::int64_t j) { return size(i) < size(j); });
  return out;
}

/// F of (1 + E) C^-1 = 1 + F with 1 + K = C^H C, C triangular in the order of `order`: what is not orthogonal is taken
/// from the vector of the larger eigenvalue, as the other way it would spoil the residual of the smaller one. Column
/// order[k] of F is its column k. Empty where 1 + K is not positive definite.
template <class T>
std::vector<T> orthogonal_shares(const View<T>& view, const std::vector<std::int64_t>& order, const std::vector<T>& k) {
  const std::int64_t m = view.active.count, first = view.active.first, n = std::int64_t(view.w.size()) / m;
  const auto at = [&](std::int64_t i) { return order[std::size_t(i)]; };
  std::vector<T> l(std::size_t(m * m));
  for (std::int64_t j = 0; j < m; ++j) {
    for (std::int64_t i = j; i < m; ++i) {
      l[std::size_t(i + j * m)] = k[std::size_t(at(i) + at(j) * m)] + T(i == j);
    }
  }
  if (lapack::potrf(m, l.data(), m) != 0) return {};
  std::vector<T> f(view.w.size());
  for (std::int64_t j = 0; j < m; ++j) {
    std::copy_n(view.w.data() + at(j) * n, n, f.data() + j * n);
    for (std::int64_t i = 0; i <= j; ++i) {
      f[std::size_t(first + at(i) + j * n)] += T(i == j) - conjugate(l[std::size_t(j + i * m)]);
    }
  }
  lapack::solve_from_right(n, m, l.data(), m, f.data(), n);
  return f;
}

/// X + X F, and the active pairs in the order of their eigenvalues. `room`: n x m.
template <class T>
void add_shares(SolvedProblem<T>& p, IndexRange active, const std::vector<std::int64_t>& order, const std::vector<T>& f,
                std::vector<T> room) {
  const std::int64_t n = p.n;
  lapack::multiply(n, n, active.count, p.vectors.data(), n, f.data(), n, room.data(), n);
  for (std::int64_t k = 0; k < active.count; ++k) {
    const T* const x = p.vector(active.first + order[std::size_t(k)]);
    for (std::int64_t i = 0; i < n; ++i) room[std::size_t(i + k * n)] += x[i];
  }
  std::vector<std::int64_t> rising(order.size());
  std::iota(rising.begin(), rising.end(), std::int64_t(0));
  const std::vector<double> values = p.values;
  const auto value = [&](std::int64_t k) { return values[std::size_t(active.first + order[std::size_t(k)])]; };
  std::stable_sort(rising.begin(), rising.end(), [&](std::int64_t i, std::int64_t j) { return value(i) < value(j); });
  for (std::int64_t k = 0; k < active.count; ++k) {
    const std::int64_t from = rising[std::size_t(k)];
    p.values[std::size_t(active.first + k)] = value(from);
    std::copy_n(room.data() + from * n, n, p.vector(active.first + k));
  }
}

/// False where there is no step; pairs may be anything then.
template <class T>
bool improve(SolvedProblem<T>& p, View<T> view) {
  std::vector<Cluster<T>> clusters = clusters_of(view, p.values);
  if (!turn_clusters(view, clusters, p.values, p.vector(view.active.first))) return false;
  take_one_away(view, p.n);
  make_shares(view, clusters, p.values);
  const std::vector<std::int64_t> order = from_smallest(view.active, p.values);
  const std::vector<T> f = orthogonal_shares(view, order, what_shares_leave(view, p.n));
  if (f.empty()) return false;
  add_shares(p, view.active, order, f, std::move(view.g));
  return true;
}

/// Eigenvalues become Rayleigh quotients, and pairs are sorted again.
template <class T>
void take_quotients(SolvedProblem<T>& p, IndexRange active, const std::vector<double>& shifts) {
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    if (std::isfinite(shifts[k])) p.values[std::size_t(active.first) + k] += shifts[k];
  }
  std::vector<std::int64_t> order(shifts.size());
  std::iota(order.begin(), order.end(), std::int64_t(0));
  const auto value = [&](std::int64_t k) { return p.values[std::size_t(active.first + k)]; };
  if (std::is_sorted(p.values.begin() + active.first, p.values.begin() + active.first + active.count)) return;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return value(i) < value(j); });
  const std::vector<double> values = p.values;
  const std::vector<T> vectors(p.vector(active.first), p.vector(active.first) + active.count * p.n);
  for (std::int64_t k = 0; k < active.count; ++k) {
    const std::int64_t from = order[std::size_t(k)];
    p.values[std::size_t(active.first + k)] = values[std::size_t(active.first + from)];
    std::copy_n(vectors.data() + from * p.n, p.n, p.vector(active.first + k));
  }
}

/// The best pairs so far, to return to: a step may spoil pairs for the next one to make them better.
template <class T>
class Best {
 public:
  Best(const SolvedProblem<T>& p, const View<T>& view) : first_(view.defects) { take(p, view); }

  IndexRange active() const { return active_; }
  const std::vector<double>& shifts() const { return shifts_; }
  /// Whether pairs are better, and in nothing much worse than at first.
  bool is_worse_than(const View<T>& view) const {
    return figure(view) < figure_ && (view.is_rounded() || view.defects.defect <= 2 * first_.defect) &&
           view.defects.orthogonality <= std::max(2 * first_.orthogonality, view.rounding_of_all);
  }
  void take(const SolvedProblem<T>& p, const View<T>& view) {
    active_ = view.active;
    shifts_ = view.shifts;
    figure_ = figure(view);
    values_ = p.values;
    vectors_.assign(p.vector(active_.first), p.vector(active_.first) + active_.count * p.n);
  }
  void restore(SolvedProblem<T>& p) const {
    p.values = values_;
    std::copy(vectors_.begin(), vectors_.end(), p.vector(active_.first));
  }

 private:
  Defects first_;
  IndexRange active_;
  std::vector<double> shifts_;
  double figure_ = 0;
  std::vector<double> values_;
  std::vector<T> vectors_;
};

}  // namespace

template <class T>
std::vector<Refinement> refine(SolvedProblem<T>& p, IndexRange wanted, int steps) {
  const Defective<T> defective(p, wanted);
  std::vector<Refinement> out;
  View<T> view = defective.look(wanted);
  Best<T> best(p, view);
  double lowest = figure(view);
  int idle = 0;  // steps in a row that have gained less than half
  while (!view.is_rounded() && idle < 2 && std::int64_t(out.size()) < steps) {
    Refinement step{view.defects, view.defects, false};
    const IndexRange active = view.active;
    if (!improve(p, std::move(view))) {
      out.push_back(step);
      break;
    }
    view = defective.look(active);
    step.after = view.defects;
    out.push_back(step);
    if (!std::isfinite(step.after.defect)) break;
    idle = figure(view) < lowest / 2 ? 0 : idle + 1;
    lowest = std::min(lowest, figure(view));
    if (best.is_worse_than(view)) {
      best.take(p, view);
      for (Refinement& taken : out) taken.kept = true;
    }
  }
  if (!out.empty() && !out.back().kept) best.restore(p);
  take_quotients(p, best.active(), best.shifts());
  return out;
}

template <class T>
double refinement_bytes(std::int64_t n) {
  const double two_panels = 2 * double(columns_looked_at) * double(n) * sizeof(T);  // A X, then R and B X
  return 7.0 * double(n) * double(n) * sizeof(T) + two_panels + residual_bytes<T>(n, slices_for<T>(n, most_bits));
}

template std::vector<Refinement> refine(SolvedProblem<double>&, IndexRange, int);
template std::vector<Refinement> refine(SolvedProblem<std::complex<double>>&, IndexRange, int);
template double refinement_bytes<double>(std::int64_t);
template double refinement_bytes<std::complex<double>>(std::int64_t);

}  // namespace quadrille::eigen
