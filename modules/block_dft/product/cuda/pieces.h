// Blocks in pieces that fit the tiles of the kernels: larger blocks are cut.
#pragma once

#include "modules/block_dft/matrix/cuda/device_matrix.h"

#include <algorithm>

namespace quadrille::block_dft {

/// Rows (columns) [begin, begin + size) of a block that has `whole` of them.
struct Piece {
  std::int32_t block, begin, size, whole;
};

/// Blocks [begin, end) along a side of a matrix.
struct BlockRange {
  std::int32_t begin, end;
  std::int32_t count() const { return end - begin; }
};

/// The pieces of blocks along a side of a matrix, on the device.
struct Pieces {
  std::int32_t count = 0, blocks = 0;
  std::int32_t largest = 1;         ///< size; of all blocks, also of those left out
  bool alike = true;                ///< all take as many tiles of 8 rows as the largest
  DeviceArray<Piece> piece;         ///< [count]
  DeviceArray<std::int32_t> first;  ///< [block + 1]; of blocks in ascending order, first[block + 1] is end[block]
  DeviceArray<std::int32_t> end;    ///< [block]

  int tiles() const { return (largest + 7) / 8; }
};

/// The most of a piece of the side that is summed over.
constexpr std::int32_t most_inner = 32;

/// Pieces of up to `most` rows, those of a block about as large as each other, and all but its last in multiples of 8.
Pieces pieces_of(const BlockSizes& sizes, std::int32_t most);
/// Those of some blocks, in the order of `blocks`; the others have none.
Pieces pieces_of(const BlockSizes& sizes, const std::vector<std::int32_t>& blocks, std::int32_t most);
Pieces pieces_of(const BlockSizes& sizes, BlockRange blocks, std::int32_t most);

/// Pieces along the rows and the columns of a task.
struct PanelShape {
  int rows, columns;
};

}  // namespace quadrille::block_dft
