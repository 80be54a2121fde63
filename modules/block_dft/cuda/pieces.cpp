#include "modules/block_dft/cuda/pieces.h"

#include "modules/block_dft/cuda/panel_shape.h"

#include <limits>

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

Pieces pieces_of(const BlockSizes& sizes, std::int32_t most, Cut cut, BlockRange range) {
  std::vector<Piece> piece;
  std::vector<std::int32_t> first{0};
  Pieces out;
  std::int32_t fewest = std::numeric_limits<std::int32_t>::max();  // tiles of a piece
  for (std::int32_t block = 0; block < sizes.count(); ++block) {
    const std::int32_t size = sizes.size(block), parts = up(size, most);
    const auto edge = [&](std::int64_t part) {
      const std::int64_t at = cut == Cut::evenly ? up(size, 8) * part / parts * 8 : most * part;
      return std::int32_t(std::min<std::int64_t>(size, at));
    };
    for (std::int32_t part = 0; part < parts; ++part) {
      const Piece one{block, edge(part), edge(part + 1) - edge(part), size};
      out.largest = std::max(out.largest, one.size);
      fewest = std::min(fewest, up(one.size, 8));
      if (block >= range.begin && block < range.end) piece.push_back(one);
    }
    first.push_back(std::int32_t(piece.size()));
  }
  out.count = std::int32_t(piece.size());
  out.blocks = sizes.count();
  out.alike = fewest >= out.tiles();
  out.piece = cuda::sent(piece, device_what, device_advice);
  out.first = cuda::sent(first, device_what, device_advice);
  return out;
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
