// Where one rank has no memory of its GPU, a call that all ranks of a grid make ends on all of them: nobody waits for
// that rank.
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/runtime.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/scf/model_system.h"
#include "modules/block_dft/scf/scf.h"
#include "tests/ranks/blocks_on_ranks.h"
#include "tests/ranks/shortage/shortage.h"

#include <gtest/gtest.h>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::expect_end_on_all;
using Matrix = BlockMatrix<double>;

class RankDeviceShortage : public ::testing::TestWithParam<Symmetry> {
 protected:
  const std::shared_ptr<const Communicator> ranks = all_ranks();
  const Grid grid = grids(*ranks)[std::size_t(seed()) % grids(*ranks).size()];
  const BlockSizes sizes = shared_sizes(40).on(grid);
  const DeviceMatrix a{random(0.4)}, b{random(0.5)};

  Matrix random(double occupation) const { return random_blocks<double>(sizes, sizes, GetParam(), occupation, seed()); }
};
INSTANTIATE_TEST_SUITE_P(Symmetries, RankDeviceShortage,
                         ::testing::Values(Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric));

TEST_P(RankDeviceShortage, Filter) {
  constexpr double between_norms = 3;
  expect_end_on_all(*ranks, [&] {
    DeviceMatrix left = copied(a);
    filter(left, between_norms);
  });
}

TEST_P(RankDeviceShortage, OtherForms) {
  expect_end_on_all(*ranks, [&] { transposed(a); });
  expect_end_on_all(*ranks, [&] { without_symmetry(a); });
  expect_end_on_all(*ranks, [&] { with_symmetry(a, Symmetry::symmetric); });
  expect_end_on_all(*ranks, [&] { with_symmetry(a, Symmetry::antisymmetric); });
}

TEST_P(RankDeviceShortage, Sums) {
  const Matrix here = random(0.3);
  expect_end_on_all(*ranks, [&] { DeviceMatrix{here}; });
  expect_end_on_all(*ranks, [&] {
    DeviceMatrix sum = copied(a);
    add(1, sum, 1, b);
    if (GetParam() != Symmetry::antisymmetric) add_identity(sum, 1);
    scale_by_means(sum, std::vector<double>(std::size_t(sizes.count()), 2.0));
  });
  expect_end_on_all(*ranks, [&] { trace(a); });
  expect_end_on_all(*ranks, [&] { dot(a, b); });
  expect_end_on_all(*ranks, [&] { row_dots(a, b); });
  expect_end_on_all(*ranks, [&] { gershgorin(a); });
  expect_end_on_all(*ranks, [&] { require_finite(a, "A"); });
}

TEST_P(RankDeviceShortage, Products) {
  for (const bool mixed : {false, true}) {
    expect_end_on_all(*ranks, [&] {
      DeviceMatrix c = copied(b);
      multiply(0.5, Transpose::yes, a, Transpose::no, b, 1, c, {.eps = 0.5, .mixed = mixed});
    });
  }
}

/// Of this rank's device, when no rank takes or gives any and pools keep none.
std::size_t free_bytes(const Communicator& ranks) {
  cuda::trim();
  ranks.barrier();
  std::size_t free = 0, total = 0;
  QUADRILLE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  ranks.barrier();
  return free;
}

TEST(RankDeviceWindows, GoBackAtTheEndOfATask) {
  const auto ranks = all_ranks();
  const Grid grid = MatrixGrid::over(*ranks);
  if (!grid) return;
  const BlockSizes sizes = random_sizes(200, {23}, seed()).on(grid);
  const DeviceMatrix a(random_blocks<double>(sizes, sizes, Symmetry::none, 0.5, seed()));
  const auto multiply_here = [&] {
    DeviceMatrix c(sizes, sizes);
    multiply(1, Transpose::no, a, Transpose::no, a, 0, c);
  };
  multiply_here();  // the first call loads kernels
  release_windows(grid);
  const std::size_t before = free_bytes(*ranks);
  multiply_here();
  EXPECT_LT(free_bytes(*ranks), before);
  release_windows(grid);
  EXPECT_EQ(free_bytes(*ranks), before);
  release_windows(grid);
  release_windows(nullptr);
}

TEST(RankDeviceShortages, DensityMatrices) {
  const auto ranks = all_ranks();
  const BlockSizes sizes = random_sizes(30, {1, 2, 4, 5}, seed()).on(MatrixGrid::over(*ranks));
  const ModelSystem system = model_system({.sizes = sizes, .seed = seed()});
  const DeviceMatrix h(system.h), s(system.s);
  for (const DensityMethod method : {DensityMethod::trs4, DensityMethod::dense}) {
    const DensityOptions options{.method = method, .electrons = system.electrons, .function = {.eps = 1e-4}};
    expect_end_on_all(*ranks, [&] { density_matrix(h, s, options); });
  }
}

}  // namespace
}  // namespace quadrille::block_dft
