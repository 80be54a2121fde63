// Functions of block-sparse matrices and density matrices on the GPU against those of the CPU, and their bits.
#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/scf/model_system.h"
#include "modules/block_dft/scf/scf.h"
#include "tests/gpu/poison.h"
#include "tests/modules/block_dft/dense.h"
#include "tests/testing/backend_under_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::poison_free_memory;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

Matrix random_square(const BlockSizes& sizes, double occupation, Symmetry symmetry = Symmetry::none, double decay = 0) {
  return random_blocks<double>(sizes, sizes, symmetry, occupation, next_seed(), decay);
}

/// Bit for bit: the same operations in the same order.
void expect_equal(const Matrix& one, const Matrix& other) {
  EXPECT_EQ(one.symmetry(), other.symmetry());
  ASSERT_EQ(one.block_count(), other.block_count());
  one.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { EXPECT_EQ(one.get(i, j), other.get(i, j)); });
}

TEST(CudaBlockAlgebra, SumsOfMatrices) {
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(40);
    for (const double occupation : {0.0, 0.1, 1.0}) {
      Matrix a = random_square(sizes, 0.2, symmetry);
      const Matrix b = random_square(sizes, occupation, symmetry);
      DeviceMatrix there(a);
      const DeviceMatrix b_there(b);
      poison_free_memory();
      add(1.5, a, -0.25, b);
      add(1.5, there, -0.25, b_there);
      expect_equal(there.fetch(), a);
      add(1.0, there, 2.0, there);  // what it adds is itself
      scale(a, 3.0);
      EXPECT_LE(largest_difference(dense_of(there.fetch()), dense_of(a)), 1e-14);
      scale(there, -0.5);
      scale(a, -0.5);
      EXPECT_LE(largest_difference(dense_of(there.fetch()), dense_of(a)), 1e-14);
    }
  }
  const BlockSizes sizes = some_sizes(25);
  Matrix a = random_square(sizes, 0.2);
  const Matrix b = random_square(sizes, 0.2, Symmetry::antisymmetric);
  DeviceMatrix there(a);
  add(1.0, a, 1.0, b);
  add(1.0, there, 1.0, DeviceMatrix(b));
  expect_equal(there.fetch(), a);
}

TEST(CudaBlockAlgebra, Identities) {
  for (const Symmetry symmetry : {Symmetry::none, Symmetry::symmetric}) {
    const BlockSizes sizes = some_sizes(35);
    Matrix a = random_square(sizes, 0.3, symmetry);
    DeviceMatrix there(a);
    for (int time = 0; time < 2; ++time) {  // the first adds blocks
      poison_free_memory();
      add_identity(a, -1.25);
      add_identity(there, -1.25);
      expect_equal(there.fetch(), a);
    }
    EXPECT_DOUBLE_EQ(there.occupation(), a.occupation());
    EXPECT_NEAR(trace(there), trace(a), 1e-12 * double(sizes.total()));
  }
  const BlockSizes sizes = some_sizes(3);
  EXPECT_EQ(trace(DeviceMatrix(sizes, sizes)), 0);
}

TEST(CudaBlockAlgebra, OtherForms) {
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(30);
    const Matrix a = random_square(sizes, 0.3, symmetry);
    const DeviceMatrix there(a);
    poison_free_memory();
    expect_equal(transposed(there).fetch(), transposed(a));
    expect_equal(without_symmetry(there).fetch(), without_symmetry(a));
    for (const Symmetry wanted : symmetries) {
      EXPECT_LE(largest_difference(dense_of(with_symmetry(there, wanted).fetch()), dense_of(with_symmetry(a, wanted))),
                1e-15);
    }
  }
  const BlockSizes rows = some_sizes(20), columns = some_sizes(33);
  const Matrix a = random_blocks<double>(rows, columns, Symmetry::none, 0.3, next_seed());
  expect_equal(transposed(DeviceMatrix(a)).fetch(), transposed(a));
}

TEST(CudaBlockAlgebra, SumsOverElements) {
  for (const Symmetry symmetry : symmetries) {
    const BlockSizes sizes = some_sizes(40);
    const Matrix a = random_square(sizes, 0.4, symmetry, 0.1), b = random_square(sizes, 0.3, symmetry);
    const DeviceMatrix there(a), b_there(b);
    poison_free_memory();
    const double size = frobenius_norm(a) * frobenius_norm(b);
    EXPECT_NEAR(dot(there, b_there), dot(a, b), 1e-14 * size);
    EXPECT_EQ(dot(there, b_there), dot(there, b_there));
    EXPECT_NEAR(dot(there, DeviceMatrix(without_symmetry(b))), dot(a, b), 1e-14 * size);
    EXPECT_NEAR(frobenius_norm(there), frobenius_norm(a), 1e-14 * frobenius_norm(a));
    const Interval found = gershgorin(there), expected = gershgorin(a);
    EXPECT_NEAR(found.low, expected.low, 1e-13 * row_sum_norm(a));
    EXPECT_NEAR(found.high, expected.high, 1e-13 * row_sum_norm(a));
    EXPECT_NEAR(row_sum_norm(there), row_sum_norm(a), 1e-13 * row_sum_norm(a));
    EXPECT_DOUBLE_EQ(there.occupation(), a.occupation());
    const std::vector<double> rows = row_dots(there, b_there), rows_expected = row_dots(a, b);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(rows[i], rows_expected[i], 1e-14 * size);
    std::vector<double> factors;
    for (std::int32_t i = 0; i < sizes.count(); ++i) factors.push_back(0.1 * i - 1);
    Matrix scaled = a;
    DeviceMatrix scaled_there = there;
    scale_by_means(scaled, factors);
    scale_by_means(scaled_there, factors);
    expect_equal(scaled_there.fetch(), scaled);
    expect_equal(there.fetch(), a);  // a copy was scaled
  }
}

TEST(CudaBlockAlgebra, WhatIsNotFiniteIsNamed) {
  const BlockSizes sizes({3, 2, 4});
  Matrix a = random_square(sizes, 1, Symmetry::symmetric);
  require_finite(DeviceMatrix(a), "A");
  a.block(a.find(1, 2))[5] = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of([&] { require_finite(DeviceMatrix(a), "A"); }), message_of([&] { require_finite(a, "A"); }));
  EXPECT_THAT(message_of([&] { require_finite(DeviceMatrix(a), "A"); }), HasSubstr("A: element [4, 6] is inf"));
}

ModelSystem some_system(std::int32_t atoms) {
  return model_system({.sizes = random_sizes(atoms, {2, 5, 13, 23}, next_seed()), .seed = next_seed()});
}

double relative_difference(Matrix a, const Matrix& b) {
  add(1.0, a, -1.0, b);
  return frobenius_norm(a) / frobenius_norm(b);
}

TEST(CudaMatrixFunctions, AreThoseOfTheCpu) {
  const ModelSystem system = some_system(60);
  for (const double eps : {1e-10, 1e-5}) {
    for (int order = 2; order <= 5; ++order) {
      const FunctionOptions options{.eps = eps, .order = order};
      Matrix x = system.h;
      DeviceMatrix x_there(x);
      const FunctionReport on_cpu = matrix_sign(x, options), report = matrix_sign(x_there, options);
      EXPECT_TRUE(report.converged);
      EXPECT_EQ(report.iterations, on_cpu.iterations);
      EXPECT_NEAR(report.flops, on_cpu.flops, 0.05 * on_cpu.flops);
      EXPECT_EQ(report.device_flops, report.flops);
      EXPECT_LE(relative_difference(x_there.fetch(), x), 10 * eps);
      const auto roots = square_roots(system.s, options);
      const auto roots_there = square_roots(DeviceMatrix(system.s), options);
      EXPECT_LE(relative_difference(roots_there.root.fetch(), roots.root), 10 * eps);
      EXPECT_LE(relative_difference(roots_there.inverse_root.fetch(), roots.inverse_root), 10 * eps);
    }
  }
  const FunctionOptions options{.eps = 1e-10};
  EXPECT_LE(
      relative_difference(inverse(DeviceMatrix(system.s), options).matrix.fetch(), inverse(system.s, options).matrix),
      1e-9);
  const Matrix turning = random_square(some_sizes(30), 0.2, Symmetry::antisymmetric);
  EXPECT_LE(relative_difference(exponential(DeviceMatrix(turning), options).matrix.fetch(),
                                exponential(turning, options).matrix),
            1e-9);
}

TEST(CudaMatrixFunctions, IllConditionedRootsAndInverse) {
  for (const double condition : {1e4, 1e6, 1e9}) {
    const IllConditioned problem(random_sizes(12, {2, 3, 5, 13}, next_seed()), condition, next_seed());
    const Matrix s = problem.power(1);
    for (const double eps : {1e-6, 1e-10}) {
      const double rounding = 100 * 0x1p-52 * condition;
      const double of_elements = 10 * eps * std::sqrt(double(s.rows().total())) + rounding;
      const auto roots = square_roots(DeviceMatrix(s), {.eps = eps});
      const Matrix z = roots.inverse_root.fetch(), one = identity<double>(s.rows());
      Matrix sz(s.rows(), s.rows());
      multiply(1.0, Transpose::no, s, Transpose::no, z, 0.0, sz);
      EXPECT_LE(
          norm_of_product(1.0, Transpose::yes, z, Transpose::no, sz, -1.0, without_symmetry(one)) / frobenius_norm(one),
          20 * eps + rounding)
          << condition << ", eps " << eps;
      EXPECT_LE(relative_difference(roots.root.fetch(), problem.power(0.5)), of_elements)
          << condition << ", eps " << eps;
      EXPECT_LE(relative_difference(inverse(DeviceMatrix(s), {.eps = eps}).matrix.fetch(), problem.power(-1)),
                of_elements)
          << condition << ", eps " << eps;
    }
  }
}

TEST(CudaDensity, IsThatOfTheCpuAndOfEigenvectors) {
  const ModelSystem system = some_system(60);
  const DeviceMatrix h(system.h), s(system.s);
  const auto exact = density_matrix(system.h, system.s, {.method = DensityMethod::dense, .mu = 0.0});
  const double orbitals = double(system.h.rows().total());
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4, DensityMethod::canonical}) {
    for (const double eps : {1e-10, 1e-6}) {
      DensityOptions options{.method = method, .electrons = system.electrons, .function = {.eps = eps}};
      const auto density = density_matrix(h, s, options);
      EXPECT_TRUE(density.converged);
      EXPECT_NEAR(density.electrons, system.electrons, 100 * eps * orbitals);
      EXPECT_NEAR(density.energy, exact.energy, 100 * eps * orbitals);
      EXPECT_LE(relative_difference(density.p.fetch(), exact.p), 300 * eps);
      const DensityCheck check = check_density(density.p, h, s, eps / 100);
      EXPECT_LE(check.idempotency, 300 * eps);
      EXPECT_LE(check.commutation, 300 * eps);
      const Matrix again = density_matrix(h, s, options).p.fetch();
      expect_equal(again, density.p.fetch());
    }
  }
}

TEST(CudaDensity, OccupiedEigenvectors) {
  const ModelSystem system = some_system(30);
  const DensityOptions options{.method = DensityMethod::dense, .mu = 0.0};
  const auto exact = density_matrix(system.h, system.s, options);
  const auto density = density_matrix(DeviceMatrix(system.h), DeviceMatrix(system.s), options);
  EXPECT_LE(largest_difference(density.eigenvalues, exact.eigenvalues), 1e-12);
  EXPECT_LE(relative_difference(density.p.fetch(), exact.p), 1e-11);
  // The factor of S serves other Hamiltonians, too.
  DensitySolver<DeviceMatrix> solver(DeviceMatrix(system.s), options);
  Matrix shifted = system.h;
  add(1.0, shifted, 0.01, system.s);
  for (const Matrix& h : {system.h, shifted, system.h}) {
    expect_equal(solver.density(DeviceMatrix(h)).p.fetch(),
                 density_matrix(DeviceMatrix(h), DeviceMatrix(system.s), options).p.fetch());
  }
  Matrix bad = system.s;
  bad.put(0, 0, std::vector<double>(std::size_t(bad.rows().size(0)) * std::size_t(bad.rows().size(0)), -1.0));
  EXPECT_THAT(message_of([&] { density_matrix(DeviceMatrix(system.h), DeviceMatrix(bad), options); }),
              HasSubstr("S is not positive definite"));
}

TEST(CudaDensity, SaysWhatAllEigenvectorsTake) {
  EXPECT_NO_THROW(require_dense_memory_on_device(100));
  EXPECT_THAT(message_of([] { require_dense_memory_on_device(100, 1e15); }), HasSubstr("needs 909 TiB, "));
  EXPECT_THAT(message_of([] { require_dense_memory_on_device(300'000); }),
              HasSubstr("eigenvectors of 300000 orbitals on one GPU, needs 3."));
}

TEST(CudaDensity, SelfConsistentLoops) {
  ModelSystem system =
      model_system({.sizes = random_sizes(40, {2, 3, 5}, next_seed()), .polarity = 0.2, .seed = next_seed()});
  const SccModel<> model{system.h, system.s, charge_interaction(system.positions, {.hubbard = 2, .screening = 1}),
                         system.neutral};
  const SccModel<DeviceMatrix> there{DeviceMatrix(model.h0), DeviceMatrix(model.s), model.gamma, model.neutral};
  for (const ScfMethod method : {ScfMethod::mixing, ScfMethod::curvy}) {
    ScfOptions options{.method = method, .eps_scf = 1e-9};
    options.density = {.method = DensityMethod::trs4, .electrons = system.electrons, .function = {.eps = 1e-9}};
    const Scf<> on_cpu = self_consistent(model, options);
    const Scf<DeviceMatrix> on_gpu = self_consistent(there, options);
    EXPECT_TRUE(on_gpu.converged);
    EXPECT_NEAR(on_gpu.energy, on_cpu.energy, 1e-7 * system.electrons);
    for (std::size_t a = 0; a < on_cpu.charges.size(); ++a) EXPECT_NEAR(on_gpu.charges[a], on_cpu.charges[a], 1e-4);
  }
}

TEST(CudaDensity, BadInput) {
  const ModelSystem system = some_system(10);
  const DeviceMatrix h(system.h), s(system.s);
  Matrix indefinite = system.s;
  add_identity(indefinite, -1.0);
  EXPECT_THAT(message_of([&] { density_matrix(h, DeviceMatrix(indefinite), {.mu = 0.0}); }),
              HasSubstr("S is not positive definite"));
  EXPECT_THAT(message_of([&] { density_matrix(h, s, {.mu = -100.0}); }), HasSubstr("outside the spectrum"));
  EXPECT_THAT(message_of([&] { density_matrix(h, s, {.electrons = 1e9}); }), HasSubstr("electrons"));
  Matrix nan = system.h;
  nan.block(0)[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message_of([&] { density_matrix(DeviceMatrix(nan), s, {.mu = 0.0}); }), HasSubstr("H: element [0, 0]"));
}

}  // namespace
}  // namespace quadrille::block_dft
