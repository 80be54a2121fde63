#include "modules/block_dft/matrix/random_blocks.h"

#include "core/random/random.h"
#include "core/system/team.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <cmath>
#include <cstdlib>

namespace quadrille::block_dft {

BlockSizes random_sizes(std::int32_t count, const std::vector<std::int32_t>& kinds, std::uint64_t seed) {
  std::vector<std::int32_t> sizes;
  for (std::int32_t k = 0; k < count; ++k) {
    SiteRandom random(seed, RandomPurpose::RandomBlocks, k, 1);
    sizes.push_back(kinds[random.integer() % kinds.size()]);
  }
  return BlockSizes(std::move(sizes));
}

namespace {

/// The blocks of this rank.
template <class T>
BlockMatrix<T> random_here(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry, double occupation,
                           std::uint64_t seed, double decay) {
  const auto random_of = [&](std::int32_t i, std::int32_t j) {
    return SiteRandom(seed, RandomPurpose::RandomBlocks, std::int64_t(i) * columns.count() + j);
  };
  const BlockPattern shape(rows, columns, symmetry);
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < rows.count(); ++i) {
    for (std::int32_t j = symmetry == Symmetry::none ? 0 : i; j < columns.count(); ++j) {
      if (shape.owns(i, j) && random_of(i, j).uniform() < occupation) column.push_back(j);
    }
    first.push_back(std::int64_t(column.size()));
  }
  BlockMatrix<T> out = BlockMatrix<T>::with_pattern(rows, columns, symmetry, std::move(first), std::move(column));
  team_for_uneven(rows.count(), [&](std::int32_t i) {
    for (std::int64_t slot = out.begin(i); slot < out.end(i); ++slot) {
      const std::int32_t j = out.column(slot);
      SiteRandom random = random_of(i, j);
      (void)random.uniform();
      const double size = std::exp(-decay * std::abs(i - j));
      T* block = out.block(slot);
      for (std::int64_t k = 0; k < std::int64_t(rows.size(i)) * columns.size(j); ++k) {
        block[k] = T(size * (2 * random.uniform() - 1));
      }
      if (symmetry != Symmetry::none && i == j) symmetrise_block(block, rows.size(i), T(mirror_sign(symmetry)));
    }
  });
  return out;
}

}  // namespace

template <class T>
BlockMatrix<T> random_blocks(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry, double occupation,
                             std::uint64_t seed, double decay) {
  return on_every_rank(rows.grid(), [&] { return random_here<T>(rows, columns, symmetry, occupation, seed, decay); });
}

template BlockMatrix<double> random_blocks(const BlockSizes&, const BlockSizes&, Symmetry, double, std::uint64_t,
                                           double);
template BlockMatrix<float> random_blocks(const BlockSizes&, const BlockSizes&, Symmetry, double, std::uint64_t,
                                          double);

}  // namespace quadrille::block_dft
