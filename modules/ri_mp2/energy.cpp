#include "modules/ri_mp2/energy.h"

#include <algorithm>
#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

constexpr std::int64_t tile = 32;  ///< virtual orbitals: two blocks of integrals fit into the first-level cache

/// Of one pair. D is symmetric in a and b, so both orders of a and b go together.
template <class T>
SpinSums sum_pair(const System& system, const T* x, std::int64_t stride, double e_ij) {
  const std::int64_t n = system.virtuals;
  const double* e = system.eps_virtual.data();
  SpinSums sums;
  for (std::int64_t a0 = 0; a0 < n; a0 += tile) {
    for (std::int64_t b0 = 0; b0 <= a0; b0 += tile) {
      for (std::int64_t a = a0; a < std::min(a0 + tile, n); ++a) {
        for (std::int64_t b = b0; b < std::min(b0 + tile, a); ++b) {
          const double one = x[a * stride + b], other = x[b * stride + a];
          add_pair(sums, one, other, e_ij - e[a] - e[b]);
        }
      }
    }
  }
  for (std::int64_t a = 0; a < n; ++a) {
    add_diagonal(sums, x[a * stride + a], e_ij - e[a] - e[a]);
  }
  return sums;
}

}  // namespace

template <class T>
SpinSums sum_batch(const System& system, const Batch<T>& batch) {
  const std::int64_t n = system.virtuals, stride = batch.count_j * n, count = batch.count_i * batch.count_j;
  std::vector<SpinSums> pairs(static_cast<std::size_t>(count));
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t pair = 0; pair < count; ++pair) {
    const std::int64_t i = pair / batch.count_j, j = pair % batch.count_j;
    const double e_ij =
        system.eps_occupied[std::size_t(batch.first_i + i)] + system.eps_occupied[std::size_t(batch.first_j + j)];
    pairs[std::size_t(pair)] = sum_pair(system, batch.integrals + i * n * stride + j * n, stride, e_ij);
  }
  const double times = batch.first_i == batch.first_j ? 1 : 2;
  SpinSums total;
  for (const SpinSums& sums : pairs) {
    total.opposite += times * sums.opposite;
    total.same += times * sums.same;
  }
  return total;
}

template SpinSums sum_batch(const System&, const Batch<double>&);
template SpinSums sum_batch(const System&, const Batch<float>&);

std::vector<double> squares_of_rows(const System& system, const std::vector<double>& b) {
  std::vector<double> squares(static_cast<std::size_t>(system.pairs()));
#pragma omp parallel for
  for (std::int64_t ia = 0; ia < system.pairs(); ++ia) {
    double sum = 0;
    for (std::int64_t q = 0; q < system.auxiliary; ++q) {
      const double x = b[std::size_t(ia * system.auxiliary + q)];
      sum += x * x;
    }
    squares[std::size_t(ia)] = sum;
  }
  return squares;
}

Sensitivity energy_sensitivity(const System& system, const std::vector<double>& squares) {
  const std::int64_t pairs = system.pairs();
  std::vector<Sensitivity> rows(static_cast<std::size_t>(pairs));
  std::vector<double> gaps(rows.size()), norms(rows.size());
  for (std::int64_t ia = 0; ia < pairs; ++ia) {
    gaps[std::size_t(ia)] = gap(system, ia);
    norms[std::size_t(ia)] = std::sqrt(squares[std::size_t(ia)]);
  }
#pragma omp parallel for
  for (std::int64_t ia = 0; ia < pairs; ++ia) {
    const double gap_ia = gaps[std::size_t(ia)];
    double first = 0, second = 0;
#pragma omp simd reduction(+ : first, second)
    for (std::int64_t jb = 0; jb < pairs; ++jb) {
      const double inverse = 1 / (gap_ia + gaps[std::size_t(jb)]);
      first += norms[std::size_t(jb)] * inverse;
      second += inverse;
    }
    rows[std::size_t(ia)] = {6 * norms[std::size_t(ia)] * first, 3 * second};
  }
  Sensitivity total;
  for (const Sensitivity& row : rows) {
    total.first += row.first;
    total.second += row.second;
  }
  return total;
}

}  // namespace quadrille::ri_mp2
