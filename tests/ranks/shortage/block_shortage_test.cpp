// Where one rank has no memory, a call that all ranks of a grid make ends on all of them: nobody waits for that rank.
#include "modules/block_dft/files/element_stream.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "modules/block_dft/scf/model_system.h"
#include "modules/block_dft/scf/scf.h"
#include "tests/ranks/blocks_on_ranks.h"
#include "tests/ranks/shortage/shortage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::expect_end_on_all;
using Matrix = BlockMatrix<double>;

class RankBlockShortage : public ::testing::TestWithParam<Symmetry> {
 protected:
  const std::shared_ptr<const Communicator> ranks = all_ranks();
  const Grid grid = grids(*ranks)[std::size_t(seed()) % grids(*ranks).size()];
  const BlockSizes sizes = random_sizes(90, {5, 7}, seed()).on(grid);
  const Matrix a = random(0.8), b = random(0.9);

  Matrix random(double occupation) const { return random_blocks<double>(sizes, sizes, GetParam(), occupation, seed()); }
};
INSTANTIATE_TEST_SUITE_P(Symmetries, RankBlockShortage,
                         ::testing::Values(Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric));

TEST_P(RankBlockShortage, Sums) {
  const std::uint64_t number = seed();
  expect_end_on_all(*ranks, [&] { random_blocks<double>(sizes, sizes, GetParam(), 0.9, number); });
  expect_end_on_all(*ranks, [&] {
    Matrix sum = copied(a);
    add(1.0, sum, 1.0, b);
  });
  const auto count = std::int32_t(120 * std::sqrt(double(ranks->size())));  // so that each rank has as many
  const BlockSizes points = random_sizes(count, {1}, seed()).on(grid);
  const auto dots = random_blocks<double>(points, points, GetParam(), 0.9, seed());
  expect_end_on_all(*ranks, [&] { row_dots(dots, dots); });
}

TEST_P(RankBlockShortage, Filter) {
  constexpr double between_norms = 3.4;
  expect_end_on_all(*ranks, [&] {
    Matrix left = copied(a);
    filter(left, between_norms);
  });
}

TEST_P(RankBlockShortage, OtherForms) {
  expect_end_on_all(*ranks, [&] { transposed(a); });
  expect_end_on_all(*ranks, [&] { without_symmetry(a); });
  expect_end_on_all(*ranks, [&] { with_symmetry(a, Symmetry::symmetric); });
  expect_end_on_all(*ranks, [&] { with_symmetry(a, Symmetry::antisymmetric); });
}

TEST_P(RankBlockShortage, Products) {
  for (const bool mixed : {false, true}) {
    expect_end_on_all(*ranks, [&] {
      Matrix c = copied(b);
      multiply(0.5, Transpose::yes, a, Transpose::no, b, 1.0, c, {.eps = 1, .mixed = mixed});
    });
  }
}

TEST_P(RankBlockShortage, ToAndFromOneRank) {
  if (!grid) return;
  expect_end_on_all(*ranks, [&] { collected(a); });
  const Matrix alone = random_blocks<double>(sizes.on(nullptr), sizes.on(nullptr), GetParam(), 0.9, seed());
  expect_end_on_all(*ranks, [&] { scattered(alone, grid); });
  StreamBuffer buffer;
  expect_end_on_all(*ranks, [&] {
    for_each_rows(
        a, 100, [](std::int64_t) { return 0; }, buffer, [](const ElementRows&) {});
  });
}

TEST(RankBlockShortages, DensityMatrices) {
  const auto ranks = all_ranks();
  const BlockSizes sizes = random_sizes(40, {5, 13}, seed());
  const ModelSystem shared =
      model_system({.sizes = sizes.on(MatrixGrid::over(*ranks)), .polarity = 0.1, .seed = seed()});
  const SccModel<> model{shared.h, shared.s, charge_interaction(shared.positions, {.hubbard = 1, .screening = 1}),
                         shared.neutral};
  for (const ScfMethod method : {ScfMethod::mixing, ScfMethod::curvy}) {
    ScfOptions scf{.method = method};
    scf.density = {.method = DensityMethod::trs4, .electrons = shared.electrons, .function = {.eps = 1e-4}};
    scf.eps_scf = 1e-4;
    scf.max_iterations = 2;
    expect_end_on_all(*ranks, [&] { self_consistent(model, scf); });
  }
}

}  // namespace
}  // namespace quadrille::block_dft
