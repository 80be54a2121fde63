#include "modules/mgemm/choice/sampled_error.h"

#include "modules/mgemm/choice/error_bound.h"
#include "modules/mgemm/product/blas.h"
#include "modules/mgemm/product/split_product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace quadrille::mgemm {
namespace {

/// Places that lie evenly in the order of falling norms.
std::vector<std::int64_t> evenly_by_norm(const std::vector<double>& squares, std::int64_t wanted) {
  std::vector<std::int64_t> order(squares.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t i, std::int64_t j) { return squares[std::size_t(i)] > squares[std::size_t(j)]; });
  const std::int64_t total = std::int64_t(order.size()), count = std::min(wanted, total);
  std::vector<std::int64_t> chosen(static_cast<std::size_t>(count));
  for (std::int64_t s = 0; s < count; ++s) chosen[std::size_t(s)] = order[std::size_t(s * total / count)];
  return chosen;
}

/// 2-norms of rows, of the elements up to `delta`.
std::vector<double> norms_of_rows(const DenseView<const double>& a, double delta) {
  std::vector<double> norms = profile_magnitudes(a, delta, 0).row_squares;
  for (double& x : norms) x = std::sqrt(x);
  return norms;
}

/// For each row of a product the column where it is largest relative to the column's norm.
std::vector<std::int64_t> most_coherent(const DenseView<const double>& product, const std::vector<double>& norms) {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(product.rows));
  for (std::int64_t i = 0; i < product.rows; ++i) {
    double most = -1;
    for (std::int64_t j = 0; j < product.cols; ++j) {
      const double coherence = std::abs(product(i, j)) / norms[std::size_t(j)];  // of a column of zeros NaN: not taken
      if (!(coherence > most)) continue;
      most = coherence;
      columns[std::size_t(i)] = j;
    }
  }
  return columns;
}

constexpr double all = std::numeric_limits<double>::infinity();

}  // namespace

SampledError::Sample SampledError::take_rows(DenseView<const double> from, const std::vector<std::int64_t>& chosen) {
  const std::int64_t count = std::int64_t(chosen.size()), length = from.cols;
  Sample sample;
  sample.numbers.resize(std::size_t(count * length));
  for (std::int64_t s = 0; s < count; ++s) {
    double* to = sample.numbers.data() + s * length;
    for (std::int64_t l = 0; l < length; ++l) to[l] = from(chosen[std::size_t(s)], l);
  }
  sample.view = {sample.numbers.data(), count, length, length, true};
  sample.norms = norms_of_rows(sample.view, all);
  return sample;
}

SampledError::SampledError(DenseView<const double> a, DenseView<const double> b, const std::vector<double>& row_squares,
                           const std::vector<double>& column_squares)
    : a_(take_rows(a, evenly_by_norm(row_squares, rows))),
      deviations_(std::sqrt(2 * std::log(2e6 * double(a.rows + b.cols)))) {
  const std::int64_t count = a_.view.rows;
  std::vector<double> products(static_cast<std::size_t>(count * b.cols));
  const DenseView<double> exact{products.data(), count, b.cols, count, false};
  shared_product(1.0, a_.view, b, 0.0, exact);
  std::vector<std::int64_t> chosen = evenly_by_norm(column_squares, columns);
  const std::vector<std::int64_t> coherent = most_coherent(exact.constant(), norms_of_rows(b.transposed(), all));
  chosen.insert(chosen.end(), coherent.begin(), coherent.end());
  b_turned_ = take_rows(b.transposed(), chosen);
  exact_.reserve(chosen.size() * std::size_t(count));
  for (const std::int64_t j : chosen) exact_.insert(exact_.end(), exact.line(j), exact.line(j) + count);
}

double SampledError::relative(double delta, std::int64_t depth) const {
  const std::int64_t count = a_.view.rows, others = b_turned_.view.rows;
  SplitFactor a, b_turned;
  a.assign(a_.view, delta);
  b_turned.assign(b_turned_.view, delta);
  std::vector<double> mixed(exact_.size());
  multiply_split(1.0, a, b_turned, 0.0, {mixed.data(), count, others, count, false}, depth);
  const std::vector<double> small_a = norms_of_rows(a_.view, delta), small_b = norms_of_rows(b_turned_.view, delta);
  // What both products may differ by although nothing was in single.
  const double in_double = 2 * gamma_bound(2 * double(a_.view.cols) + 8, 0x1p-53);
  double largest = 0, coherent = 0;
  for (std::int64_t j = 0; j < others; ++j) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::size_t place = std::size_t(j * count + i), row = std::size_t(i), column = std::size_t(j);
      const double excess =
          std::abs(mixed[place] - exact_[place]) - in_double * a_.norms[row] * b_turned_.norms[column];
      if (!(excess > 0)) continue;
      const double share = excess / (small_a[row] * small_b[column]);
      largest = std::max(largest, share);
      if (j - i == others - count) coherent += share * share;  // the columns added for the rows come last
    }
  }
  return std::max(2 * largest, deviations_ * std::sqrt(coherent / double(count)));
}

}  // namespace quadrille::mgemm
