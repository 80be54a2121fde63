// How far pairs on ranks are from solving a problem.
#include "core/comm/agreement.h"
#include "modules/eigen/ranks/solve_on_ranks.h"
#include "modules/eigen/ranks/spread.h"
#include "modules/mgemm/product/blas.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::eigen {
namespace {

/// The largest sum of magnitudes in a column.
double largest_sum(const Communicator& ranks, std::vector<double> sums) {
  sum_all(ranks, sums);
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

template <class T>
double norm_of_columns(const Communicator& ranks, const Layout& layout, const T* part, IndexRange columns) {
  std::vector<double> sums(std::size_t(columns.count), 0.0);
  for_columns(layout, ranks.rank(), part, columns,
              [&](std::int64_t, std::int64_t j, const T& x) { sums[std::size_t(j - columns.first)] += std::abs(x); });
  return largest_sum(ranks, std::move(sums));
}

template <class T>
double hermitian_norm_on_ranks(const Communicator& ranks, const Layout& layout, const T* part) {
  std::vector<double> sums(std::size_t(layout.n), 0.0);
  for_lower(layout, ranks.rank(), part, [&](std::int64_t i, std::int64_t j, const T& x) {
    const double size = std::abs(x);
    sums[std::size_t(j)] += size;
    if (i != j) sums[std::size_t(i)] += size;
  });
  return largest_sum(ranks, std::move(sums));
}

}  // namespace

template <class T>
Accuracy check_on_ranks(const Communicator& ranks, const Layout& layout, SpreadProducts<T>& products,
                        const std::vector<T>& a, const std::vector<T>* b, const SpreadPairs<T>& pairs) {
  const mgemm::AllBlasThreads all_threads;
  const IndexRange range = pairs.columns();
  const Layout& of_x = pairs.layout;
  const int rank = ranks.rank();
  const T* const x = pairs.vectors.data();
  std::vector<T> ax, bx, gram;
  all_or_none(ranks, [&] {
    ax.resize(pairs.vectors.size());
    if (b != nullptr) bx.resize(pairs.vectors.size());
    gram.resize(pairs.vectors.size());
  });
  products.multiply_hermitian(a.data(), x, range, ax.data());
  if (b != nullptr) products.multiply_hermitian(b->data(), x, range, bx.data());
  const T* const in_metric = b != nullptr ? bx.data() : x;
  products.multiply_adjoint(x, in_metric, range, gram.data());
  const std::int64_t rows = of_x.local_rows(rank);
  for (std::int64_t l = of_x.columns_before(rank, range.first);
       l < of_x.columns_before(rank, range.first + range.count); ++l) {
    const double value = pairs.pairs.values[std::size_t(of_x.column(rank, l) - range.first)];
    for (std::int64_t k = l * rows; k < (l + 1) * rows; ++k) ax[std::size_t(k)] -= value * in_metric[k];
  }
  const IndexRange all{0, range.count};
  for_columns(of_x, rank, gram.data(), all, [&](std::int64_t i, std::int64_t j, T& product) {
    if (i == j) product -= T(1);
    if (i >= range.count) product = 0;
  });
  const double residual = norm_of_columns(ranks, of_x, ax.data(), range),
               orthogonality = norm_of_columns(ranks, of_x, gram.data(), all),
               norm = hermitian_norm_on_ranks(ranks, layout, a.data()) * norm_of_columns(ranks, of_x, x, range) *
                      double(layout.n);
  return {norm > 0 ? residual / norm : residual, orthogonality / double(layout.n)};
}

template Accuracy check_on_ranks(const Communicator&, const Layout&, SpreadProducts<double>&,
                                 const std::vector<double>&, const std::vector<double>*, const SpreadPairs<double>&);
template Accuracy check_on_ranks(const Communicator&, const Layout&, SpreadProducts<std::complex<double>>&,
                                 const std::vector<std::complex<double>>&, const std::vector<std::complex<double>>*,
                                 const SpreadPairs<std::complex<double>>&);

}  // namespace quadrille::eigen
