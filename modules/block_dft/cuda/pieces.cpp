#include "modules/block_dft/cuda/pieces.h"

#include "modules/block_dft/cuda/panel_shape.h"

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

Pieces pieces_of(const BlockSizes& sizes, std::int32_t most) {
  std::vector<Piece> piece;
  std::vector<std::int32_t> first{0};
  for (std::int32_t block = 0; block < sizes.count(); ++block) {
    const std::int32_t size = sizes.size(block), parts = up(size, most);
    const auto edge = [&](std::int64_t part) {
      return std::int32_t(std::min<std::int64_t>(size, up(size, 8) * part / parts * 8));
    };
    for (std::int32_t part = 0; part < parts; ++part) {
      piece.push_back({block, edge(part), edge(part + 1) - edge(part), size});
    }
    first.push_back(std::int32_t(piece.size()));
  }
  Pieces out;
  out.count = std::int32_t(piece.size());
  out.blocks = sizes.count();
  for (const Piece& p : piece) out.largest = std::max(out.largest, p.size);
  for (const Piece& p : piece) out.alike = out.alike && up(p.size, 8) == out.tiles();
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
