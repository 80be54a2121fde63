// Blocks in pieces that fit the tiles of the kernels: a block of up to 32 rows is one piece, a larger one is cut.
#pragma once

#include "modules/block_dft/cuda/device_matrix.h"

#include <algorithm>

namespace quadrille::block_dft {

constexpr std::int32_t largest_piece = 32;

/// Rows (columns) [begin, begin + size) of a block that has `whole` of them.
struct Piece {
  std::int32_t block, begin, size, whole;
};

/// The pieces of all blocks along a side of a matrix, on the device.
struct Pieces {
  std::int32_t count = 0, blocks = 0;
  std::int32_t largest = 1;         ///< size
  bool alike = true;                ///< all take as many tiles of 8 rows as the largest
  DeviceArray<Piece> piece;         ///< [count]
  DeviceArray<std::int32_t> first;  ///< [block + 1]

  int tiles() const { return (largest + 7) / 8; }
};

inline Pieces pieces_of(const BlockSizes& sizes) {
  std::vector<Piece> piece;
  std::vector<std::int32_t> first{0};
  for (std::int32_t block = 0; block < sizes.count(); ++block) {
    const std::int32_t size = sizes.size(block), eights = (size + 7) / 8;
    const std::int32_t parts = (size + largest_piece - 1) / largest_piece;
    for (std::int32_t part = 0; part < parts; ++part) {
      const auto edge = [&](std::int64_t of) {
        return std::int32_t(std::min<std::int64_t>(size, eights * of / parts * 8));
      };
      piece.push_back({block, edge(part), edge(part + 1) - edge(part), size});
    }
    first.push_back(std::int32_t(piece.size()));
  }
  Pieces out;
  out.count = std::int32_t(piece.size());
  out.blocks = sizes.count();
  for (const Piece& p : piece) out.largest = std::max(out.largest, p.size);
  for (const Piece& p : piece) out.alike = out.alike && (p.size + 7) / 8 == out.tiles();
  out.piece = cuda::sent(piece, device_what, device_advice);
  out.first = cuda::sent(first, device_what, device_advice);
  return out;
}

/// Pieces [begin, begin + count) of rows and of columns of C that a thread block works on.
struct PanelShape {
  int rows, columns;
};

}  // namespace quadrille::block_dft
