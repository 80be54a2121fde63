// The multrec layer: a product of matrices cut in two along its longest extent again and again, until the parts of A, B
// and C that are left fit a cache (Chatterjee et al., IEEE Trans. Parallel Distrib. Syst. 13, 1105: cache-oblivious).
#pragma once

#include "modules/block_dft/matrix/block_sizes.h"

#include <functional>
#include <vector>

namespace quadrille::block_dft {

/// Blocks [i0, i1) of rows of A and C, [k0, k1) of columns of A and rows of B, [j0, j1) of columns of B and C.
struct Cuboid {
  std::int32_t i0, i1, k0, k1, j0, j1;
};

/// What the recursion needs to know of a product.
struct ProductShape {
  const BlockSizes& i;
  const BlockSizes& k;
  const BlockSizes& j;
  double a_bytes, b_bytes, c_bytes;  ///< of an element, on average: number size times occupation
  bool upper;                        ///< C has no block below its diagonal
};

/// Calls leaf(cuboid) for parts that cover `whole`, each at most `cache_bytes` large or one block of each kind; of
/// parts of the same blocks of C, those with lower k first. Parts below the diagonal are left out where `shape.upper`.
void multrec(const ProductShape& shape, const Cuboid& whole, double cache_bytes,
             const std::function<void(const Cuboid&)>& leaf);

/// Parts of C with all of k, for threads to share: at most `most`, cut in two along the longer extent while they have
/// more elements than `least`.
std::vector<Cuboid> cut_result(const ProductShape& shape, std::int64_t most, double least);

}  // namespace quadrille::block_dft
