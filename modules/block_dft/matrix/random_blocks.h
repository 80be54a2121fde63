// Random block-sparse matrices, for measurements and tests.
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"

#include <cstdint>

namespace quadrille::block_dft {

/// `count` sizes: those of `kinds`, drawn at random.
BlockSizes random_sizes(std::int32_t count, const std::vector<std::int32_t>& kinds, std::uint64_t seed);

/// Each block is there with the probability `occupation`, with numbers of [-1, 1) times exp(-decay |i - j|). The
/// numbers of a block depend on seed, place and size alone: ranks of a grid make their parts of the matrix of one rank.
/// Collective.
template <class T>
BlockMatrix<T> random_blocks(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry, double occupation,
                             std::uint64_t seed, double decay = 0);

}  // namespace quadrille::block_dft
