// Random block-sparse matrices for tests on a GPU, and whether they are the same.
#pragma once

#include "tests/modules/block_dft/dense.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace quadrille::block_dft::testing {

/// Sizes of 1 to `largest`.
inline BlockSizes any_sizes(std::int32_t count, std::int32_t largest) {
  std::vector<std::int32_t> kinds(static_cast<std::size_t>(largest));
  std::iota(kinds.begin(), kinds.end(), 1);
  return random_sizes(count, kinds, next_seed());
}

inline BlockMatrix<double> random_matrix(const BlockSizes& rows, const BlockSizes& columns, double occupation,
                                         double decay = 0, Symmetry symmetry = Symmetry::none) {
  return random_blocks<double>(rows, columns, symmetry, occupation, next_seed(), decay);
}

inline bool same_bits(const BlockMatrix<double>& one, const BlockMatrix<double>& other) {
  return one.stored() == other.stored() &&
         std::memcmp(one.data().data(), other.data().data(), one.data().size_bytes()) == 0;
}

/// Whether the same blocks are there.
inline bool same_places(const BlockMatrix<double>& one, const BlockMatrix<double>& other) {
  bool same = one.block_count() == other.block_count();
  one.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) { same = same && other.find(i, j) == slot; });
  return same;
}

}  // namespace quadrille::block_dft::testing
