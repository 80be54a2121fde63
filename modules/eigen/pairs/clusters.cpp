#include "modules/eigen/pairs/clusters.h"

#include "core/error.h"
#include "modules/eigen/factor.h"
#include "modules/eigen/lapack.h"
#include "modules/eigen/solve.h"
#include "modules/eigen/triangle.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <utility>

namespace quadrille::eigen {
namespace {

constexpr double share_of_one = 0.1;  ///< of a pair in another, below which one step corrects it

/// Numbers that are joined to sets.
class Sets {
 public:
  explicit Sets(std::int64_t count) : above_(static_cast<std::size_t>(count)) {
    std::iota(above_.begin(), above_.end(), std::int64_t(0));
  }
  /// The lowest number of the set of i.
  std::int64_t lowest(std::int64_t i) {
    while (above(i) != i) {
      above(i) = above(above(i));
      i = above(i);
    }
    return i;
  }
  void join(std::int64_t i, std::int64_t j) {
    const std::int64_t a = lowest(i), b = lowest(j);
    above(std::max(a, b)) = std::min(a, b);
  }

 private:
  std::int64_t& above(std::int64_t i) { return above_[std::size_t(i)]; }
  std::vector<std::int64_t> above_;
};

/// The part of the small problem W + G (Lambda - middle), G that is a cluster's.
template <class T>
struct OwnProblem {
  std::vector<T> a, b;
};

template <class T>
OwnProblem<T> own_problem(const View<T>& view, const Cluster<T>& cluster, const std::vector<double>& values,
                          double middle) {
  const auto n = std::int64_t(values.size()), c = std::int64_t(cluster.members.size());
  const auto row = [&](std::int64_t i) { return view.active.first + cluster.members[std::size_t(i)]; };
  const auto place = [&](std::int64_t i, std::int64_t j) {
    return std::size_t(row(i) + cluster.members[std::size_t(j)] * n);
  };
  const auto shifted = [&](std::int64_t i, std::int64_t j) {
    return view.w[place(i, j)] + view.g[place(i, j)] * (values[std::size_t(row(j))] - middle);
  };
  OwnProblem<T> out{std::vector<T>(std::size_t(c * c)), std::vector<T>(std::size_t(c * c))};
  for (std::int64_t j = 0; j < c; ++j) {
    for (std::int64_t i = j; i < c; ++i) {
      out.a[std::size_t(i + j * c)] = 0.5 * (shifted(i, j) + conjugate(shifted(j, i)));
      out.b[std::size_t(i + j * c)] = 0.5 * (view.g[place(i, j)] + conjugate(view.g[place(j, i)]));
    }
  }
  return out;
}

/// Its vectors, and its eigenvalues among `values`.
template <class T>
bool solve_cluster(const View<T>& view, Cluster<T>& cluster, std::vector<double>& values) {
  const auto c = std::int64_t(cluster.members.size());
  const auto value = [&](std::int64_t i) -> double& {
    return values[std::size_t(view.active.first + cluster.members[std::size_t(i)])];
  };
  const double middle = c == 1 ? value(0) : value(0) / 2 + value(c - 1) / 2;
  OwnProblem<T> own = own_problem(view, cluster, values, middle);
  if (c == 1) {
    const double square = std::real(own.b[0]);
    if (!(square > 0)) return false;
    cluster.vectors = {T(1 / std::sqrt(square))};
    value(0) += std::real(own.a[0]) / square;
    return true;
  }
  try {
    const Factor<T> factor(c, std::move(own.b), Triangle::lower);
    Problem<T> problem;
    problem.n = problem.lda = c;
    problem.a = own.a.data();
    problem.b = &factor;
    Pairs<T> pairs = solve(problem);
    for (std::int64_t k = 0; k < c; ++k) value(k) = middle + pairs.values[std::size_t(k)];
    cluster.vectors = std::move(pairs.vectors);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::numerical) throw;
    return false;
  }
}

/// The columns of Z, which has `rows`, that belong to a cluster.
template <class T>
std::vector<T> columns_of(const Cluster<T>& cluster, std::int64_t rows, const T* z) {
  std::vector<T> out(std::size_t(rows) * cluster.members.size());
  T* to = out.data();
  for (const std::int64_t j : cluster.members) to = std::copy_n(z + j * rows, rows, to);
  return out;
}

/// Z(members) := columns * by, or that is added.
template <class T>
void set_columns(const Cluster<T>& cluster, std::int64_t rows, const std::vector<T>& columns, const std::vector<T>& by,
                 T* z, bool add = false) {
  const auto c = std::int64_t(cluster.members.size());
  std::vector<T> product(columns.size());
  lapack::multiply(rows, c, c, columns.data(), rows, by.data(), c, product.data(), rows);
  for (std::int64_t k = 0; k < c; ++k) {
    T* const to = z + cluster.members[std::size_t(k)] * rows;
    for (std::int64_t i = 0; i < rows; ++i) to[i] = (add ? to[i] : T(0)) + product[std::size_t(i + k * rows)];
  }
}

/// Rows of Z, n x m, that belong to a cluster, become its vectors' adjoint times them.
template <class T>
void turn_rows(const Cluster<T>& cluster, IndexRange active, std::int64_t n, std::vector<T>& z) {
  const auto c = std::int64_t(cluster.members.size());
  std::vector<T> rows(std::size_t(c * active.count)), product(rows.size());
  const auto place = [&](std::int64_t k, std::int64_t j) {
    return std::size_t(active.first + cluster.members[std::size_t(k)] + j * n);
  };
  for (std::int64_t j = 0; j < active.count; ++j) {
    for (std::int64_t k = 0; k < c; ++k) rows[std::size_t(k + j * c)] = z[place(k, j)];
  }
  lapack::multiply_adjoint(c, c, active.count, cluster.vectors.data(), c, rows.data(), c, product.data(), c);
  for (std::int64_t j = 0; j < active.count; ++j) {
    for (std::int64_t k = 0; k < c; ++k) z[place(k, j)] = product[std::size_t(k + j * c)];
  }
}

/// A X U - B X U Lambda' = R U + B X (Lambda U - U Lambda'): the latter factor.
template <class T>
std::vector<T> change_of(const Cluster<T>& cluster, IndexRange active, const std::vector<double>& before,
                         const std::vector<double>& after) {
  const std::size_t c = cluster.members.size();
  const auto at = [&](std::size_t i) { return std::size_t(active.first + cluster.members[i]); };
  std::vector<T> out = cluster.vectors;
  for (std::size_t j = 0; j < c; ++j) {
    for (std::size_t i = 0; i < c; ++i) out[i + j * c] *= before[at(i)] - after[at(j)];
  }
  return out;
}

}  // namespace

template <class T>
std::vector<Cluster<T>> clusters_of(const View<T>& view, const std::vector<double>& values) {
  const std::int64_t m = view.active.count, first = view.active.first;
  Sets sets(m);
  for (std::int64_t j = 0; j < m; ++j) {
    for (std::int64_t i = 0; i < m; ++i) {
      if (view.mix(values, first + i, first + j, share_of_one)) sets.join(i, j);
    }
  }
  std::vector<Cluster<T>> out;
  std::vector<std::size_t> place(static_cast<std::size_t>(m));
  for (std::int64_t j = 0; j < m; ++j) {
    const std::int64_t lowest = sets.lowest(j);
    if (lowest == j) {
      place[std::size_t(j)] = out.size();
      out.emplace_back();
    }
    out[place[std::size_t(lowest)]].members.push_back(j);
  }
  return out;
}

template <class T>
bool turn_clusters(View<T>& view, std::vector<Cluster<T>>& clusters, std::vector<double>& values, T* x) {
  const auto n = std::int64_t(values.size());
  const std::vector<double> before = values;
  for (Cluster<T>& cluster : clusters) {
    if (solve_cluster(view, cluster, values)) continue;
    values = before;
    return false;
  }
  for (const Cluster<T>& cluster : clusters) {
    const std::vector<T> g = columns_of(cluster, n, view.g.data());
    set_columns(cluster, n, columns_of(cluster, n, view.w.data()), cluster.vectors, view.w.data());
    set_columns(cluster, n, g, change_of(cluster, view.active, before, values), view.w.data(), true);
    set_columns(cluster, n, g, cluster.vectors, view.g.data());
    set_columns(cluster, n, columns_of<T>(cluster, n, x), cluster.vectors, x);
  }
  for (const Cluster<T>& cluster : clusters) {
    turn_rows(cluster, view.active, n, view.w);
    turn_rows(cluster, view.active, n, view.g);
  }
  return true;
}

template std::vector<Cluster<double>> clusters_of(const View<double>&, const std::vector<double>&);
template std::vector<Cluster<std::complex<double>>> clusters_of(const View<std::complex<double>>&,
                                                                const std::vector<double>&);
template bool turn_clusters(View<double>&, std::vector<Cluster<double>>&, std::vector<double>&, double*);
template bool turn_clusters(View<std::complex<double>>&, std::vector<Cluster<std::complex<double>>>&,
                            std::vector<double>&, std::complex<double>*);

}  // namespace quadrille::eigen
