#include "modules/block_dft/product/multrec.h"

#include <algorithm>

namespace quadrille::block_dft {
namespace {

struct Extents {
  double i, k, j;
};

Extents extents(const ProductShape& shape, const Cuboid& part) {
  return {double(shape.i.offset(part.i1) - shape.i.offset(part.i0)),
          double(shape.k.offset(part.k1) - shape.k.offset(part.k0)),
          double(shape.j.offset(part.j1) - shape.j.offset(part.j0))};
}

bool below_diagonal(const ProductShape& shape, const Cuboid& part) { return shape.upper && part.j1 <= part.i0; }

/// The block boundary nearest to the middle, inside of [begin, end), which has two blocks at least.
std::int32_t middle(const BlockSizes& sizes, std::int32_t begin, std::int32_t end) {
  const std::int32_t at = sizes.block_of((sizes.offset(begin) + sizes.offset(end)) / 2);
  return std::clamp(at, begin + 1, end - 1);
}

std::pair<Cuboid, Cuboid> halves(const ProductShape& shape, const Cuboid& part, char along) {
  std::pair<Cuboid, Cuboid> two{part, part};
  if (along == 'i') two.first.i1 = two.second.i0 = middle(shape.i, part.i0, part.i1);
  if (along == 'k') two.first.k1 = two.second.k0 = middle(shape.k, part.k0, part.k1);
  if (along == 'j') two.first.j1 = two.second.j0 = middle(shape.j, part.j0, part.j1);
  return two;
}

/// The longest extent of more than one block; 0 where there is none.
char longest(const Cuboid& part, const Extents& e) {
  char along = 0;
  double length = 0;
  const auto consider = [&](char name, std::int32_t blocks, double extent) {
    if (blocks < 2 || extent <= length) return;
    along = name;
    length = extent;
  };
  consider('i', part.i1 - part.i0, e.i);
  consider('k', part.k1 - part.k0, e.k);
  consider('j', part.j1 - part.j0, e.j);
  return along;
}

}  // namespace

void multrec(const ProductShape& shape, const Cuboid& whole, double cache_bytes,
             const std::function<void(const Cuboid&)>& leaf) {
  if (below_diagonal(shape, whole)) return;
  const Extents e = extents(shape, whole);
  const double bytes = shape.a_bytes * e.i * e.k + shape.b_bytes * e.k * e.j + shape.c_bytes * e.i * e.j;
  const char along = bytes > cache_bytes ? longest(whole, e) : 0;
  if (along == 0) return leaf(whole);
  const auto [first, second] = halves(shape, whole, along);
  multrec(shape, first, cache_bytes, leaf);
  multrec(shape, second, cache_bytes, leaf);
}

std::vector<Cuboid> cut_result(const ProductShape& shape, std::int64_t most, double least) {
  std::vector<Cuboid> parts{{0, shape.i.count(), 0, shape.k.count(), 0, shape.j.count()}};
  for (bool cut = true; cut && std::int64_t(parts.size()) * 2 <= most;) {
    cut = false;
    std::vector<Cuboid> finer;
    for (const Cuboid& part : parts) {
      Extents e = extents(shape, part);
      e.k = 0;
      const char along = e.i * e.j > least ? longest(part, e) : 0;
      if (along == 'i' || along == 'j') {
        const auto [first, second] = halves(shape, part, along);
        finer.push_back(first);
        finer.push_back(second);
        cut = true;
      } else {
        finer.push_back(part);
      }
    }
    parts = std::move(finer);
  }
  std::erase_if(parts, [&](const Cuboid& part) { return below_diagonal(shape, part); });
  return parts;
}

}  // namespace quadrille::block_dft
