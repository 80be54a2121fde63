#include "modules/block_dft/product/cuda/pieces.h"

#include "modules/block_dft/product/cuda/panels/panel_shape.h"

#include <limits>
#include <numeric>

namespace quadrille::block_dft {
namespace {

std::int32_t up(std::int32_t a, std::int32_t b) { return (a + b - 1) / b; }

/// With pieces of up to `most`, the multiple of it that rows take together.
double padded(const BlockSizes& sizes, std::int32_t most) {
  double sum = 0;
  for (const std::int32_t size : sizes.sizes()) sum += double(up(size, most)) * most;
  return sum;
}

}  // namespace

Pieces pieces_of(const BlockSizes& sizes, const std::vector<std::int32_t>& blocks, std::int32_t most) {
  Pieces out;
  out.blocks = sizes.count();
  std::int32_t fewest = std::numeric_limits<std::int32_t>::max();  // tiles of a piece
  const auto edge = [&](std::int32_t size, std::int64_t part) {
    return std::int32_t(std::min<std::int64_t>(size, up(size, 8) * part / up(size, most) * 8));
  };
  for (const std::int32_t size : sizes.sizes()) {
    for (std::int32_t part = 0; part < up(size, most); ++part) {
      const std::int32_t extent = edge(size, part + 1) - edge(size, part);
      out.largest = std::max(out.largest, extent);
      fewest = std::min(fewest, up(extent, 8));
    }
  }
  out.alike = fewest >= out.tiles();
  std::vector<Piece> piece;
  // A block that is left out begins, and ends, where the next one in ascending order begins.
  std::vector<std::int32_t> first(std::size_t(sizes.count()) + 1, -1), end(std::size_t(sizes.count()));
  for (const std::int32_t block : blocks) {
    const std::int32_t size = sizes.size(block);
    first[std::size_t(block)] = std::int32_t(piece.size());
    for (std::int32_t part = 0; part < up(size, most); ++part) {
      piece.push_back({block, edge(size, part), edge(size, part + 1) - edge(size, part), size});
    }
    end[std::size_t(block)] = std::int32_t(piece.size());
  }
  out.count = first.back() = std::int32_t(piece.size());
  for (std::size_t block = end.size(); block-- > 0;) {
    if (first[block] < 0) end[block] = first[block] = first[block + 1];
  }
  out.piece = cuda::sent(piece, device_what, device_advice);
  out.first = cuda::sent(first, device_what, device_advice);
  out.end = cuda::sent(end, device_what, device_advice);
  return out;
}

Pieces pieces_of(const BlockSizes& sizes, BlockRange blocks, std::int32_t most) {
  std::vector<std::int32_t> numbers(std::size_t(blocks.count()));
  std::iota(numbers.begin(), numbers.end(), blocks.begin);
  return pieces_of(sizes, numbers, most);
}

Pieces pieces_of(const BlockSizes& sizes, std::int32_t most) {
  return pieces_of(sizes, BlockRange{0, sizes.count()}, most);
}

std::int32_t unit_for(const BlockSizes& rows, const BlockSizes& columns) {
  constexpr std::int32_t small = 32;
  for (const BlockSizes* sizes : {&rows, &columns}) {
    for (const std::int32_t size : sizes->sizes()) {
      if (size <= small) return small;
    }
  }
  std::int32_t best = 48;
  for (const std::int32_t most : {64, 80}) {
    if (padded(rows, most) * padded(columns, most) < padded(rows, best) * padded(columns, best)) best = most;
  }
  return best;
}

}  // namespace quadrille::block_dft
