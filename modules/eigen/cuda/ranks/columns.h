// Matrices by columns that ranks have in turns, in the memory of a GPU each.
#pragma once

#include "modules/eigen/ranks/layout.h"

#include <algorithm>
#include <cstdint>

namespace quadrille::eigen {

/// This rank's columns of an n x n matrix, whole ones, with leading dimension n. Of the layout's grid one is the number
/// of rows; its blocks are multiples of the bandwidth.
template <class T>
struct Columns {
  Layout layout;
  int rank = 0;
  T* part = nullptr;

  std::int64_t n() const { return layout.n; }
  std::int64_t width(std::int64_t j) const { return std::min(layout.block, layout.n - j); }
  int owner(std::int64_t j) const { return layout.owner(0, j); }
  bool has(std::int64_t j) const { return owner(j) == rank; }
  std::int64_t count() const { return layout.local_columns(rank); }
  /// Columns of this rank before column j of the matrix.
  std::int64_t before(std::int64_t j) const { return layout.columns_before(rank, j); }
  /// An element of a column that is here.
  T* at(std::int64_t row, std::int64_t j) const { return part + row + before(j) * layout.n; }
  /// visit(j) for the first columns of the blocks that are here, from that at `first` on.
  template <class Visit>
  void for_blocks(std::int64_t first, Visit&& visit) const {
    for (std::int64_t j = first; j < layout.n; j += layout.block) {
      if (has(j)) visit(j);
    }
  }
};

}  // namespace quadrille::eigen
