// How exact a split product is, as some of its elements show.
#pragma once

#include "modules/mgemm/product/arguments.h"

#include <cstdint>
#include <vector>

namespace quadrille::mgemm {

/// Multiplies some rows of A with some columns of B in double, and then as a split product with cutoffs that are tried.
/// The error of an element is taken relative to |a_i| |b_j|, the 2-norms of the small elements of its row and column
/// (error_bound.h), which rids it of their sizes; twice the largest of the sample is what `measured` takes for all
/// elements, or more where long sums ask for it. It covers every source of error in its true size, but no row or column
/// unlike those of the sample. Rows are drawn evenly from all in the order of their norms, with the one of the largest,
/// and columns likewise; those columns are added that have the largest |a_i . b_j| / (|a_i| |b_j|) with one of the
/// rows: where terms are of one sign, as on the diagonal of A A^T, sums are long and errors large. Of these, one a row,
/// the root mean square counts, times what the largest of m + n normal numbers exceeds with a probability of 1e-6.
class SampledError {
 public:
  static constexpr std::int64_t rows = 64, columns = 448;

  /// The squares are of the 2-norms of A's rows and B's columns, of the profile, which order them. Multiplies the rows
  /// with all of B.
  SampledError(DenseView<const double> a, DenseView<const double> b, const std::vector<double>& row_squares,
               const std::vector<double>& column_squares);

  /// What no |error_ij| / (|a_i| |b_j|) is expected to exceed.
  double relative(double delta, std::int64_t depth) const;

 private:
  struct Sample {
    std::vector<double> numbers;
    DenseView<const double> view;  ///< by rows
    std::vector<double> norms;     ///< of its rows
  };
  static Sample take_rows(DenseView<const double> from, const std::vector<std::int64_t>& chosen);

  Sample a_, b_turned_;
  std::vector<double> exact_;  ///< by columns
  double deviations_;          ///< of a normal number, for all long sums at once
};

}  // namespace quadrille::mgemm
