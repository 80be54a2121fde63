// Blocks on their way between the ranks of a grid. All calls are collective, and where one rank fails, all do
// (every_rank.h).
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"

#include <functional>

namespace quadrille::block_dft {

/// A block that a rank gives: (row, column) of the matrix that it goes to is `block`, or, if `mirrored`, `sign` times
/// its transpose.
template <class T>
struct GivenBlock {
  BlockPlace place;
  const T* block;
  bool mirrored = false;
  T sign = 1;
};

/// Says which blocks a rank gives.
template <class T>
using GiveBlocks = std::function<std::vector<GivenBlock<T>>()>;

/// The matrix on the grid of `rows` and `columns` of the blocks that all ranks give, which come to their owners. No
/// block is given twice.
template <class T>
BlockMatrix<T> delivered(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry,
                         const GiveBlocks<T>& give);

/// A matrix of rank 0, whose blocks go to the ranks of `grid`. On the other ranks `whole` is not looked at but for its
/// sizes and symmetry, which are the same.
template <class T>
BlockMatrix<T> scattered(const BlockMatrix<T>& whole, const std::shared_ptr<const MatrixGrid>& grid);

/// The whole matrix on rank 0, without a grid; one without blocks on the others. A itself where it is on one rank.
template <class T>
BlockMatrix<T> collected(const BlockMatrix<T>& a);

/// What `make` gives on rank 0, scattered over the grid of `sizes`, which its rows and columns have without one; where
/// `make` throws, all ranks do. Called at once where there is no grid.
BlockMatrix<double> made_on_first(const BlockSizes& sizes, Symmetry symmetry,
                                  const std::function<BlockMatrix<double>(const BlockSizes&)>& make);

}  // namespace quadrille::block_dft
