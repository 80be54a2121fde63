// How the pieces of C in a task are shared by the warps of a thread block.
#pragma once

#include "modules/block_dft/product/cuda/pieces.h"

namespace quadrille::block_dft {

/// A warp has M x N tiles of 8 x 8 of a piece; grid_m x grid_n warps have a piece together; `groups` of them take turns
/// with the rows x columns pieces of a task. Such warps and one that brings what they need are a thread block. Pieces
/// of C fill up to two thirds of the registers.
template <int M, int N, int grid_m_, int grid_n_, int groups_, int rows_, int columns_>
struct Shape {
  static constexpr int tiles_m = M, tiles_n = N, grid_m = grid_m_, grid_n = grid_n_, groups = groups_;
  static constexpr int rows = rows_, columns = columns_;
  static constexpr int warps_of_piece = grid_m * grid_n, workers = warps_of_piece * groups;
  static constexpr int each = rows * columns / groups;  ///< pieces of a warp
  static constexpr int threads = 32 * (workers + 1);
  /// Of a thread; those that do not hold C; and how many terms of a product they allow to be under way.
  static constexpr int registers = threads > 384 ? 128 : 168;
  static constexpr int spare = registers - 4 * each * tiles_m * tiles_n;
  static constexpr int terms = spare > 64 ? 16 : 8;
  static_assert(each * groups == rows * columns && rows <= 6 && columns <= 6 && rows * columns <= 32);
};

/// call(Shape) with the shape for pieces of up to `most` rows and columns (unit_for) whose largest have `tiles` tiles.
template <class Call>
auto with_shape(std::int32_t most, int tiles, Call call) {
  // Small pieces: each is one warp's, so that none waits for another.
  if (most <= 32) {
    switch (tiles) {
      case 1: return call(Shape<1, 1, 1, 1, 15, 6, 5>());
      case 2: return call(Shape<2, 2, 1, 1, 15, 6, 5>());
      case 3: return call(Shape<3, 3, 1, 1, 15, 6, 5>());
      default: return call(Shape<4, 4, 1, 1, 15, 5, 3>());
    }
  }
  // Large ones: a ring has room for few steps, and most warps would have no product among them.
  switch (most) {
    case 48: return call(Shape<2, 3, 3, 2, 2, 2, 3>());
    case 64: return call(Shape<4, 2, 2, 4, 1, 1, 2>());
    default: return call(Shape<2, 5, 5, 2, 1, 1, 2>());
  }
}

/// Rows and columns of pieces that a task has.
inline PanelShape panel_shape(std::int32_t most, int tiles) {
  return with_shape(most, tiles, []<class S>(S) { return PanelShape{S::rows, S::columns}; });
}

/// The most rows or columns of a piece of C: 32 where there are blocks that small, otherwise that of 48, 64 and 80 with
/// the least work on elements that are not there.
std::int32_t unit_for(const BlockSizes& rows, const BlockSizes& columns);

}  // namespace quadrille::block_dft
