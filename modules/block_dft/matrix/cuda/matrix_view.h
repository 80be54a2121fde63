// A block-sparse matrix as kernels see it: rows of blocks, and where they lie.
#pragma once

#include "core/host_device.h"

#include <cstdint>

namespace quadrille::block_dft {

struct MatrixView {
  const std::int64_t* first;   ///< [row + 1]: of slots
  const std::int32_t* column;  ///< [slot], ascending in a row
  const std::int64_t* at;      ///< [slot + 1]: of data
  const double* data;
  std::int32_t rows;
  std::int64_t blocks;
};

/// The row of a slot.
QUADRILLE_HOST_DEVICE std::int32_t row_of(const MatrixView& matrix, std::int64_t slot) {
  std::int32_t low = 0, high = matrix.rows;  // first[low] <= slot < first[high]
  while (high - low > 1) {
    const std::int32_t middle = low + (high - low) / 2;
    (matrix.first[middle] <= slot ? low : high) = middle;
  }
  return low;
}

/// The first slot of row i with a column of at least j; the row's end where there is none.
QUADRILLE_HOST_DEVICE std::int64_t lower_slot(const MatrixView& matrix, std::int32_t i, std::int32_t j) {
  std::int64_t low = matrix.first[i], high = matrix.first[i + 1];
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (matrix.column[middle] < j) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The slot of block (i, j); -1 where there is none.
QUADRILLE_HOST_DEVICE std::int64_t find_slot(const MatrixView& matrix, std::int32_t i, std::int32_t j) {
  const std::int64_t slot = lower_slot(matrix, i, j);
  return slot < matrix.first[i + 1] && matrix.column[slot] == j ? slot : -1;
}

}  // namespace quadrille::block_dft
