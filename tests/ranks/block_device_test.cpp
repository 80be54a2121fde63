// Block-sparse matrices on GPUs of a grid of ranks against dense ones and against the CPU on the same grid.
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/scf/model_system.h"
#include "modules/block_dft/scf/scf.h"
#include "tests/gpu/poison.h"
#include "tests/ranks/blocks_on_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::poison_free_memory;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

constexpr Transpose both[] = {Transpose::no, Transpose::yes};

bool same_bits(const Matrix& one, const Matrix& other) {
  return one.stored() == other.stored() &&
         std::memcmp(one.data().data(), other.data().data(), one.data().size_bytes()) == 0;
}

/// The places of both.
std::vector<std::int32_t> places_of(const Matrix& a) {
  std::vector<std::int32_t> out;
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { out.insert(out.end(), {i, j}); });
  return out;
}

/// C on the devices, twice, with the same bits.
struct OnDevices {
  Matrix c;
  MultiplyReport report;

  OnDevices(double alpha, const Problem<double>& p, double beta, const MultiplyOptions& options) {
    const DeviceMatrix a(p.a), b(p.b);
    for (int time = 0; time < 2; ++time) {
      DeviceMatrix there(p.c);
      poison_free_memory();
      report = multiply(alpha, p.op_a, a, p.op_b, b, beta, there, options);
      const Matrix found = there.fetch();
      if (time > 0) {
        EXPECT_TRUE(same_bits(found, c));
      }
      c = found;
    }
  }
};

void expect_same_work(const MultiplyReport& found, const MultiplyReport& expected) {
  EXPECT_EQ(found.products, expected.products);
  EXPECT_EQ(found.skipped, expected.skipped);
  EXPECT_EQ(found.flops, expected.flops);
  EXPECT_NEAR(found.skipped_bound, expected.skipped_bound, 1e-10 * expected.skipped_bound);
}

TEST(RankDeviceBlocks, ProductsAreDenseOnes) {
  const std::pair<double, double> coefficients[] = {{1, 0}, {-1.5, 0.75}};
  for (const Transpose op_a : both) {
    for (const Transpose op_b : both) {
      for (const auto& [alpha, beta] : coefficients) {
        for_each_problem<double>(op_a, op_b, 0, [&](const Problem<double>& alone, const Problem<double>& shared) {
          const OnDevices found(alpha, shared, beta, {});
          EXPECT_LE(largest_difference(whole(found.c), alone.expected(alpha, beta)),
                    rounding<double>(alone.k.total(), alpha));
          EXPECT_EQ(found.report.bound, 0);
          Matrix c = shared.c;
          const MultiplyReport of_cpu =
              multiply(alpha, op_a, shared.a, op_b, shared.b, beta, c, {.driver = Driver::own});
          expect_same_work(found.report, of_cpu);
          EXPECT_EQ(places_of(found.c), places_of(c));
        });
      }
    }
  }
}

TEST(RankDeviceBlocks, ProductsOfLargeBlocks) {
  const auto ranks = all_ranks();
  for (const Grid& grid : grids(*ranks)) {
    SCOPED_TRACE(name_of(grid));
    const auto sizes = [&] { return random_sizes(9, {33, 45, 64, 80, 97}, seed()); };
    const Problem<double> cut{sizes(), sizes(), sizes(), Transpose::no, Transpose::no, {}, {}, {}};
    const std::uint64_t numbers = seed();
    const auto alone = Problem<double>::on(nullptr, cut, numbers, 0.5, 0);
    const auto shared = Problem<double>::on(grid, cut, numbers, 0.5, 0);
    const OnDevices found(1, shared, 1, {});
    EXPECT_LE(largest_difference(whole(found.c), alone.expected(1, 1)), rounding<double>(alone.k.total()));
  }
}

TEST(RankDeviceBlocks, SquaresOfSymmetricMatrices) {
  const auto ranks = all_ranks();
  for (const Grid& grid : grids(*ranks)) {
    SCOPED_TRACE(name_of(grid));
    for (const Symmetry symmetry : {Symmetry::symmetric, Symmetry::antisymmetric}) {
      const BlockSizes shared = shared_sizes(17).on(grid);
      const Matrix a = random_blocks<double>(shared, shared, symmetry, 0.4, seed());
      Matrix expected(shared, shared, Symmetry::symmetric);
      const MultiplyOptions options{.eps = 0.1, .driver = Driver::own};
      const MultiplyReport of_cpu = multiply(1.0, Transpose::no, a, Transpose::no, a, 0.0, expected, options);
      const DeviceMatrix there(a);
      DeviceMatrix half(shared, shared, Symmetry::symmetric), full(shared, shared);
      const MultiplyReport report = multiply(1, Transpose::no, there, Transpose::no, there, 0, half, options);
      multiply(1, Transpose::no, there, Transpose::no, there, 0, full, options);
      expect_same_work(report, of_cpu);
      EXPECT_EQ(places_of(half.fetch()), places_of(expected));
      EXPECT_LE(largest_difference(whole(half.fetch()), whole(expected)), rounding<double>(shared.total()));
      EXPECT_LE(largest_difference(whole(full.fetch()), whole(without_symmetry(expected))),
                rounding<double>(shared.total()) + 2 * 0.1);
    }
  }
}

TEST(RankDeviceFilter, HasThePlacesAndBoundsOfTheCpu) {
  for (const double eps : {1e-6, 1e-2, 0.3}) {
    for_each_problem<double>(
        Transpose::no, Transpose::yes, 0.3, [&](const Problem<double>& alone, const Problem<double>& shared) {
          const OnDevices found(0.7, shared, 0, {.eps = eps});
          Matrix c = shared.c;
          const MultiplyReport of_cpu =
              multiply(0.7, shared.op_a, shared.a, shared.op_b, shared.b, 0.0, c, {.eps = eps, .driver = Driver::own});
          expect_same_work(found.report, of_cpu);
          EXPECT_EQ(found.report.filtered_blocks, of_cpu.filtered_blocks);
          EXPECT_NEAR(found.report.filtered_norm, of_cpu.filtered_norm, 1e-10 * (1 + of_cpu.filtered_norm));
          EXPECT_EQ(places_of(found.c), places_of(c));
          EXPECT_LE(largest_difference(whole(found.c), whole(c)), rounding<double>(alone.k.total()));
          EXPECT_LE(difference_norm(whole(found.c), alone.expected(0.7, 0)),
                    found.report.bound + rounding<double>(alone.k.total()));
        });
  }
}

TEST(RankDeviceFilter, MixedPrecisionStaysWithinItsBound) {
  double single = 0;
  for (const double eps : {1e-2, 3.0}) {
    for_each_problem<double>(Transpose::no, Transpose::no, 0.3,
                             [&](const Problem<double>& alone, const Problem<double>& shared) {
                               const OnDevices found(1, shared, 0, {.eps = eps, .mixed = true});
                               single += found.report.single_flops;
                               EXPECT_LE(difference_norm(whole(found.c), alone.expected(1, 0)),
                                         found.report.bound + rounding<double>(alone.k.total()));
                             });
  }
  EXPECT_GT(single, 0);
}

TEST(RankDeviceFilter, RetainedPlaces) {
  for_each_problem<double>(
      Transpose::no, Transpose::no, 0, [&](const Problem<double>& alone, const Problem<double>& shared) {
        const OnDevices found(1, shared, 1, {.retain_sparsity = true});
        EXPECT_EQ(places_of(found.c), places_of(shared.c));
        Matrix c = shared.c;
        multiply(1.0, shared.op_a, shared.a, shared.op_b, shared.b, 1.0, c, {.retain_sparsity = true});
        EXPECT_LE(largest_difference(whole(found.c), whole(c)), rounding<double>(alone.k.total()));
      });
}

TEST(RankDevicePanels, SmallMemoryGivesTheSameResult) {
  const auto ranks = all_ranks();
  const BlockSizes m = shared_sizes(12), k = shared_sizes(80), n = shared_sizes(11);
  for (const Grid& grid : grids(*ranks)) {
    if (!grid) continue;
    SCOPED_TRACE(name_of(grid));
    const Matrix a = random_blocks<double>(m.on(grid), k.on(grid), Symmetry::none, 0.5, seed());
    const Matrix b = random_blocks<double>(k.on(grid), n.on(grid), Symmetry::none, 0.5, seed());
    const DeviceMatrix a_there(a), b_there(b);
    const auto product = [&](double panel_bytes) {
      DeviceMatrix c(m.on(grid), n.on(grid));
      multiply(1, Transpose::no, a_there, Transpose::no, b_there, 0, c, {.panel_bytes = panel_bytes});
      return whole(c.fetch());
    };
    const Dense first = product(0);
    EXPECT_EQ(product(0), first);
    double numbers = double(a.stored() + b.stored());
    ranks->sum(&numbers, 1);
    EXPECT_LE(largest_difference(product(8 * numbers / 8), first), rounding<double>(k.total()));
    EXPECT_THAT(message_of([&] { product(1); }), HasSubstr("panels of one block along k need about"));
  }
}

TEST(RankDeviceBlocks, RefuseGridsThatDoNotMatch) {
  const auto ranks = all_ranks();
  if (ranks->size() == 1) return;
  const Grid flat = MatrixGrid::over(*ranks, 1, ranks->size()), other = MatrixGrid::over(*ranks, ranks->size(), 1);
  const BlockSizes sizes = shared_sizes(9), one = sizes.on(flat), two = sizes.on(other);
  const DeviceMatrix a(one, one), b(two, two), alone(sizes, sizes);
  DeviceMatrix c(one, one);
  EXPECT_THAT(message_of([&] { multiply(1, Transpose::no, a, Transpose::no, b, 0, c); }),
              HasSubstr("must be on the same grid of ranks: they are on a grid of 1 x"));
  EXPECT_THAT(message_of([&] { add(1, c, 1, alone); }), HasSubstr("and on one rank"));
  EXPECT_NO_THROW(multiply(1, Transpose::no, a, Transpose::no, a, 0, c));  // empty
  EXPECT_EQ(c.block_count(), 0);
}

/// Each operation on all grids against that of the CPU on the same grid.
class RankDeviceAlgebra : public ::testing::TestWithParam<Symmetry> {
 protected:
  const std::shared_ptr<const Communicator> ranks = all_ranks();
  const BlockSizes sizes = shared_sizes(19);
  const std::uint64_t numbers = seed();

  Matrix random(const Grid& grid, int which) const {
    const BlockSizes on = sizes.on(grid);
    return random_blocks<double>(on, on, GetParam(), 0.3, numbers + std::uint64_t(which));
  }
  /// The same places of operation(A, B), and but for a rounding the same numbers.
  template <class Operation>
  void expect_same(Operation operation) const {
    for (const Grid& grid : grids(*ranks)) {
      const Matrix a = random(grid, 0), b = random(grid, 1), expected = operation(a, b);
      const Matrix found = operation(DeviceMatrix(a), DeviceMatrix(b)).fetch();
      EXPECT_EQ(found.grid(), grid);
      EXPECT_EQ(places_of(found), places_of(expected)) << name_of(grid);
      EXPECT_LE(largest_difference(whole(found), whole(expected)), 1e-14) << name_of(grid);
    }
  }
  /// The same of a number, but for the order of sums.
  template <class Operation>
  void expect_near(Operation operation) const {
    for (const Grid& grid : grids(*ranks)) {
      const Matrix a = random(grid, 0), b = random(grid, 1);
      const double expected = operation(a, b);
      EXPECT_NEAR(operation(DeviceMatrix(a), DeviceMatrix(b)), expected, 1e-11 * std::max(1.0, std::abs(expected)))
          << name_of(grid);
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Symmetries, RankDeviceAlgebra,
                         ::testing::Values(Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric));

TEST_P(RankDeviceAlgebra, MatricesOfTheCpu) {
  expect_same([](auto a, const auto& b) {
    scale(a, 0.3);
    add(2.0, a, -0.75, b);
    return a;
  });
  expect_same([](const auto& a, const auto&) { return transposed(a); });
  expect_same([](const auto& a, const auto&) { return without_symmetry(a); });
  expect_same([](const auto& a, const auto&) { return with_symmetry(a, Symmetry::symmetric); });
  expect_same([](const auto& a, const auto&) { return with_symmetry(a, Symmetry::antisymmetric); });
  expect_same([](auto a, const auto&) {
    filter(a, 3.0);
    return a;
  });
  if (GetParam() == Symmetry::antisymmetric) return;
  expect_same([](auto a, const auto&) {
    add_identity(a, 1.25);
    return a;
  });
}

TEST_P(RankDeviceAlgebra, NumbersOfTheCpu) {
  expect_near([](const auto& a, const auto&) { return trace(a); });
  expect_near([](const auto& a, const auto& b) { return dot(a, b); });
  expect_near([](const auto& a, const auto& b) { return dot(a, without_symmetry(b)); });
  expect_near([](const auto& a, const auto& b) { return row_dots(a, b)[7]; });
  expect_near([](const auto& a, const auto&) { return frobenius_norm(a); });
  expect_near([](const auto& a, const auto&) { return row_sum_norm(a); });
  expect_near([](const auto& a, const auto&) { return gershgorin(a).low; });
  expect_near([](const auto& a, const auto&) { return gershgorin(a).high; });
  expect_near([](const auto& a, const auto&) { return a.occupation(); });
  expect_near([](auto a, const auto&) { return filter(a, 3.0).norm; });
  expect_near([](auto a, const auto&) { return double(filter(a, 3.0).blocks); });
}

TEST_P(RankDeviceAlgebra, NotANumberOnOneRankIsSaidOnAll) {
  for (const Grid& grid : grids(*ranks)) {
    Matrix a = random(grid, 0);
    EXPECT_NO_THROW(require_finite(DeviceMatrix(a), "A"));
    const std::int32_t i = 4, j = 11;
    std::vector<double> block(a.numbers(i, j), 1.0);
    block.back() = std::nan("");
    if (a.owns(i, j)) a.put(i, j, block);
    EXPECT_THAT(message_of([&] { require_finite(DeviceMatrix(a), "A"); }),
                HasSubstr(fmt::format("element [{}, {}] is nan", sizes.offset(i + 1) - 1, sizes.offset(j + 1) - 1)));
  }
}

/// A model on one rank of the CPU, and on a grid of devices whose shape another run changes.
class RankDeviceDensity : public ::testing::Test {
 protected:
  const std::shared_ptr<const Communicator> ranks = all_ranks();
  const std::uint64_t number = seed();
  const Grid grid = grids(*ranks)[number % grids(*ranks).size()];
  const ModelOptions options{.sizes = random_sizes(30, {1, 2, 4, 5}, number), .polarity = 0.1, .seed = number};
  const ModelSystem alone = model_system(options);
  const ModelSystem shared = model_system(on_grid());

  ModelOptions on_grid() const {
    ModelOptions out = options;
    out.sizes = options.sizes.on(grid);
    return out;
  }
};

TEST_F(RankDeviceDensity, MethodsAgreeWithLapack) {
  DensityOptions density{.method = DensityMethod::dense, .electrons = alone.electrons, .function = {.eps = 1e-9}};
  const Density<Matrix> exact = density_matrix(alone.h, alone.s, density);
  const DeviceMatrix h(shared.h), s(shared.s);
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4, DensityMethod::dense}) {
    density.method = method;
    const Density<DeviceMatrix> found = density_matrix(h, s, density);
    EXPECT_TRUE(found.converged);
    EXPECT_NEAR(found.energy, exact.energy, 1e-6);
    EXPECT_NEAR(found.electrons, alone.electrons, 1e-6);
    EXPECT_LE(difference_norm(whole(found.p.fetch()), whole(exact.p)), 1e-6) << "method " << int(method);
  }
}

TEST_F(RankDeviceDensity, SelfConsistentCharges) {
  const auto loop = [&]<class M>(const M& h, const M& s, ScfMethod method) {
    SccModel<M> model{h, s, charge_interaction(alone.positions, {.hubbard = 1, .screening = 1}), alone.neutral};
    ScfOptions scf{.method = method};
    scf.density = {.method = DensityMethod::trs4, .electrons = alone.electrons, .function = {.eps = 1e-9}};
    scf.eps_scf = 1e-9;
    return self_consistent(model, scf);
  };
  for (const ScfMethod method : {ScfMethod::mixing, ScfMethod::curvy}) {
    const Scf<Matrix> one = loop(alone.h, alone.s, method);
    const Scf<DeviceMatrix> many = loop(DeviceMatrix(shared.h), DeviceMatrix(shared.s), method);
    EXPECT_TRUE(many.converged);
    EXPECT_NEAR(many.energy, one.energy, 1e-6);
    EXPECT_NEAR(many.electrons, alone.electrons, 1e-6);
    for (std::size_t a = 0; a < one.charges.size(); ++a) EXPECT_NEAR(many.charges[a], one.charges[a], 1e-5);
  }
}

}  // namespace
}  // namespace quadrille::block_dft
