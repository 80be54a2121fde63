// What is done to the parts of matrices on ranks, by no library. Collective but for the loops.
#pragma once

#include "core/comm/communicator.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/layout.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// The rows of the matrix that this rank's are.
std::vector<std::int64_t> rows_of_part(const Layout& layout, int rank);

/// visit(i, j, x) for the elements x of a part that are in the columns [first, first + count) of the matrix, column by
/// column.
template <class T, class Visit>
void for_columns(const Layout& layout, int rank, T* part, IndexRange columns, Visit&& visit) {
  const std::vector<std::int64_t> rows = rows_of_part(layout, rank);
  const std::int64_t begin = layout.columns_before(rank, columns.first),
                     end = layout.columns_before(rank, columns.first + columns.count);
  for (std::int64_t l = begin; l < end; ++l) {
    const std::int64_t j = layout.column(rank, l);
    T* const column = part + l * std::int64_t(rows.size());
    for (std::size_t k = 0; k < rows.size(); ++k) visit(rows[k], j, column[k]);
  }
}

/// The same for those of the lower triangle, diagonal included.
template <class T, class Visit>
void for_lower(const Layout& layout, int rank, T* part, Visit&& visit) {
  const std::vector<std::int64_t> rows = rows_of_part(layout, rank);
  for (std::int64_t l = 0; l < layout.local_columns(rank); ++l) {
    const std::int64_t j = layout.column(rank, l);
    T* const column = part + l * std::int64_t(rows.size());
    for (auto k = std::size_t(std::lower_bound(rows.begin(), rows.end(), j) - rows.begin()); k < rows.size(); ++k) {
      visit(rows[k], j, column[k]);
    }
  }
}

/// Sums, or maxima, of any number of values over all ranks.
void sum_all(const Communicator& ranks, std::vector<double>& values);
void maximum_all(const Communicator& ranks, std::vector<double>& values);

/// As scale_lower() of triangle.h, with its errors on all ranks.
template <class T>
int scale_spread(const Communicator& ranks, const Layout& layout, T* part, const std::string& name);

/// The largest component of each of these columns becomes real and positive, as solve.h says.
template <class T>
void fix_signs(const Communicator& ranks, const Layout& layout, IndexRange columns, T* part);

/// These columns, n x count, on rank 0, and nothing on others. No memory: fails on all.
template <class T>
std::vector<T> columns_on_first(const Communicator& ranks, const Layout& layout, const T* part, IndexRange columns);

}  // namespace quadrille::eigen
