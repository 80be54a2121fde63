// Where the elements of a matrix on ranks are: in the 2D block-cyclic distribution of ScaLAPACK and ELPA.
#pragma once

#include "core/api.h"

#include <cstdint>

namespace quadrille::eigen {

/// An n x n matrix in blocks of block x block, whose rows and columns the ranks of a grid take in turns. Rank r has the
/// place (r / columns, r % columns); ranks behind the grid have no part. A part is stored by columns, without gaps.
struct Layout {
  std::int64_t n = 0, block = 1;
  int rows = 1, columns = 1;  ///< of the grid

  bool operator==(const Layout&) const = default;

  bool has(int rank) const { return rank < rows * columns; }
  int row_of(int rank) const { return rank / columns; }
  int column_of(int rank) const { return rank % columns; }

  std::int64_t local_rows(int rank) const { return has(rank) ? share(row_of(rank), rows) : 0; }
  std::int64_t local_columns(int rank) const { return has(rank) ? share(column_of(rank), columns) : 0; }
  std::int64_t local_size(int rank) const { return local_rows(rank) * local_columns(rank); }
  /// The row, or column, of the matrix that is a rank's `local` one.
  std::int64_t row(int rank, std::int64_t local) const { return whole(local, row_of(rank), rows); }
  std::int64_t column(int rank, std::int64_t local) const { return whole(local, column_of(rank), columns); }
  /// The rank's columns before column `j` of the matrix.
  std::int64_t columns_before(int rank, std::int64_t j) const {
    return has(rank) ? Layout{j, block, rows, columns}.share(column_of(rank), columns) : 0;
  }

  int owner(std::int64_t i, std::int64_t j) const { return int(i / block % rows) * columns + int(j / block % columns); }
  /// Where the element is in its owner's part.
  std::int64_t place(std::int64_t i, std::int64_t j) const {
    return local(i, rows) + local(j, columns) * local_rows(owner(i, j));
  }

 private:
  std::int64_t local(std::int64_t i, int places) const { return i / block / places * block + i % block; }
  std::int64_t whole(std::int64_t local, int place, int places) const {
    return (local / block * places + place) * block + local % block;
  }
  /// Of n numbers, those of a place.
  std::int64_t share(int place, int places) const {
    const std::int64_t blocks = n / block, rest = blocks % places;
    return blocks / places * block + (place < rest ? block : place == rest ? n % block : 0);
  }
};

/// The layout for `ranks` ranks: the grid is at most four times as wide as high, with 16 rows of the matrix or more for
/// each of its own; so some ranks may be left out. Blocks of 64, or down to 16 where that gives each rank four.
QUADRILLE_API Layout layout_for(std::int64_t n, int ranks);

/// The layout of matrices on the GPUs of ranks: whole columns, which ranks have in turns by blocks of 64 to 512.
QUADRILLE_API Layout columns_on_gpus(std::int64_t n, int ranks);
constexpr std::int64_t widest_gpu_block = 512, narrowest_gpu_block = 64;

}  // namespace quadrille::eigen
