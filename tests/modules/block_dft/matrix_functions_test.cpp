// Functions of matrices and density matrices against eigenvectors of LAPACK and against what defines them.
#include "modules/block_dft/density.h"

#include "core/error.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/model_system.h"
#include "tests/modules/block_dft/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

ModelSystem some_system(std::int32_t atoms) {
  return model_system({.sizes = random_sizes(atoms, {2, 3, 5, 8}, next_seed()), .seed = next_seed()});
}

/// |A B - C| / |C|, Frobenius.
double product_error(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix product(a.rows(), b.columns());
  multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, product);
  add(1.0, product, -1.0, c);
  return frobenius_norm(product) / frobenius_norm(c);
}

double relative_difference(Matrix a, const Matrix& b) {
  add(1.0, a, -1.0, b);
  return frobenius_norm(a) / frobenius_norm(b);
}

TEST(MatrixFunctions, SignSquaresToTheIdentityAndCommutes) {
  const ModelSystem system = some_system(24);
  Matrix x = system.h;
  const FunctionReport report = matrix_sign(x, {.eps = 1e-12});
  EXPECT_TRUE(report.converged);
  const Matrix one = identity<double>(x.rows());
  EXPECT_LE(product_error(x, x, one), 1e-9);
  Matrix xh(x.rows(), x.rows());
  multiply(1.0, Transpose::no, x, Transpose::no, system.h, 0.0, xh);
  EXPECT_LE(relative_difference(transposed(xh), xh), 1e-9);
  EXPECT_NEAR(trace(x), double(x.rows().total()) - 2 * system.electrons, 1e-8);
}

TEST(MatrixFunctions, RootsAndInverse) {
  const ModelSystem system = some_system(24);
  const FunctionOptions options{.eps = 1e-12};
  const SquareRoots roots = square_roots(system.s, options);
  const Matrix one = identity<double>(system.s.rows());
  EXPECT_LE(product_error(roots.root, roots.root, system.s), 1e-9);
  EXPECT_LE(product_error(roots.root, roots.inverse_root, one), 1e-9);
  const Inverse of_s = inverse(system.s, options), of_h = inverse(system.h, options);  // the latter is indefinite
  EXPECT_LE(product_error(system.s, of_s.matrix, one), 1e-9);
  EXPECT_LE(product_error(system.h, of_h.matrix, one), 1e-9);
  EXPECT_LE(product_error(roots.inverse_root, roots.inverse_root, of_s.matrix), 1e-9);
}

TEST(MatrixFunctions, HigherOrdersGiveTheSameInFewerIterations) {
  const ModelSystem system = some_system(24);
  const Matrix one = identity<double>(system.s.rows());
  std::vector<int> of_sign, of_roots;
  for (int order = 2; order <= 5; ++order) {
    const FunctionOptions options{.eps = 1e-12, .order = order};
    Matrix x = system.h;
    const FunctionReport sign = matrix_sign(x, options);
    EXPECT_TRUE(sign.converged);
    EXPECT_LE(product_error(x, x, one), 1e-9) << order;
    EXPECT_NEAR(trace(x), double(x.rows().total()) - 2 * system.electrons, 1e-8) << order;
    const SquareRoots roots = square_roots(system.s, options);
    EXPECT_LE(product_error(roots.root, roots.root, system.s), 1e-9) << order;
    EXPECT_LE(product_error(roots.root, roots.inverse_root, one), 1e-9) << order;
    of_sign.push_back(sign.iterations);
    of_roots.push_back(roots.report.iterations);
  }
  for (const std::vector<int>& iterations : {of_sign, of_roots}) {
    EXPECT_TRUE(std::is_sorted(iterations.rbegin(), iterations.rend()));
    EXPECT_LT(iterations.back(), iterations.front());
  }
}

TEST(MatrixFunctions, InverseKeepsTheSymmetry) {
  const BlockSizes sizes = random_sizes(12, {2, 3, 4}, next_seed());
  for (const Symmetry symmetry : {Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric}) {
    // Pairs of rows make an antisymmetric matrix of odd blocks regular.
    Matrix a = random_blocks<double>(sizes, sizes, symmetry, 0.3, next_seed());
    scale(a, 0.5 / row_sum_norm(a));
    if (symmetry == Symmetry::antisymmetric) {
      if (sizes.total() % 2 == 1) continue;  // singular
      std::vector<double> dense(std::size_t(sizes.total() * sizes.total()));
      for (std::int64_t p = 0; p < sizes.total(); p += 2) {
        dense[std::size_t(p * sizes.total() + p + 1)] = 1;
        dense[std::size_t((p + 1) * sizes.total() + p)] = -1;
      }
      add(1.0, a, 1.0, Matrix::from_dense(dense, sizes, sizes, symmetry));
    } else {
      add_identity(a, 1.0);
    }
    const Inverse found = inverse(a, {.eps = 1e-13});
    EXPECT_EQ(found.matrix.symmetry(), symmetry);
    EXPECT_LE(product_error(a, found.matrix, identity<double>(sizes)), 1e-10) << int(symmetry);
  }
}

/// The Taylor series, on whole matrices.
Dense dense_exponential(const Dense& a, std::int64_t n) {
  Dense sum(a.size()), term(a.size());
  for (std::int64_t p = 0; p < n; ++p) sum[std::size_t(p * n + p)] = term[std::size_t(p * n + p)] = 1;
  for (int power = 1; power < 60; ++power) {
    term = dense_multiplied(term, a, n, n, n);
    for (std::size_t k = 0; k < a.size(); ++k) sum[k] += term[k] /= power;
  }
  return sum;
}

TEST(MatrixFunctions, ExponentialIsThatOfTheTaylorSeries) {
  const BlockSizes sizes = random_sizes(10, {1, 3, 5}, next_seed());
  for (const Symmetry symmetry : {Symmetry::none, Symmetry::symmetric, Symmetry::antisymmetric}) {
    Matrix a = random_blocks<double>(sizes, sizes, symmetry, 0.4, next_seed());
    scale(a, 4 / row_sum_norm(a));
    const Exponential found = exponential(a, {.eps = 1e-13});
    EXPECT_EQ(found.matrix.symmetry(), symmetry == Symmetry::symmetric ? symmetry : Symmetry::none);
    EXPECT_LE(largest_difference(dense_of(found.matrix), dense_exponential(dense_of(a), sizes.total())), 1e-10)
        << int(symmetry);
    EXPECT_GT(found.report.flops, 0);
  }
  // A rotation, however far.
  Matrix a = random_blocks<double>(sizes, sizes, Symmetry::antisymmetric, 0.4, next_seed());
  scale(a, 1000.0);
  const Matrix rotation = exponential(a, {.eps = 1e-14}).matrix;
  EXPECT_LE(product_error(transposed(rotation), rotation, identity<double>(sizes)), 1e-8);
}

TEST(MatrixFunctions, ErrorsOfTheExponentialFallWithEps) {
  const BlockSizes sizes = random_sizes(60, {1, 3, 5}, next_seed());
  Matrix a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, next_seed(), 1.0);
  scale(a, 3 / row_sum_norm(a));
  const Matrix exact = exponential(a, {.eps = 1e-14}).matrix;
  double before = INFINITY;
  for (const double eps : {1e-2, 1e-4, 1e-6, 1e-8}) {
    const double error = relative_difference(exponential(a, {.eps = eps}).matrix, exact);
    EXPECT_LT(error, before) << "eps " << eps;
    EXPECT_LT(error, 20 * eps) << "eps " << eps;
    before = error;
  }
}

TEST(MatrixFunctions, ErrorsFallWithEpsAndStayNearTheBound) {
  const ModelSystem system = some_system(40);
  const Matrix exact = square_roots(system.s, {.eps = 1e-13}).inverse_root;
  double before = INFINITY;
  for (const double eps : {1e-3, 1e-5, 1e-7, 1e-9}) {
    const SquareRoots roots = square_roots(system.s, {.eps = eps});
    const double error = relative_difference(roots.inverse_root, exact);
    EXPECT_LT(error, std::max(before, eps)) << "eps " << eps;  // the last step may have made the one before as good
    EXPECT_LT(error, 20 * eps) << "eps " << eps;
    EXPECT_GT(roots.report.bound, 0);
    before = error;
  }
}

TEST(MatrixFunctions, BadInput) {
  const BlockSizes sizes({2, 2});
  Matrix a = identity<double>(sizes);
  const auto roots = [&](double eps) { return message_of([&] { square_roots(a, {.eps = eps}); }); };
  EXPECT_EQ(roots(1e-8), "");
  EXPECT_THAT(roots(0), HasSubstr("eps = 0"));
  EXPECT_THAT(roots(-1), HasSubstr("eps = -1"));
  for (const int order : {1, 6}) {
    EXPECT_THAT(message_of([&] { square_roots(a, {.order = order}); }), HasSubstr(": it must be 2 to 5"));
  }
  Matrix large = a;
  scale(large, 1000.0);
  EXPECT_THAT(message_of([&] { exponential(large, {}); }), HasSubstr("|A|_inf = 1000: above 700"));
  a.put(1, 1, std::vector<double>{1, 0, 0, -0.1});
  EXPECT_THAT(roots(1e-8), HasSubstr("S is not positive definite"));
  a.put(1, 1, std::vector<double>{1, 0, 0, 0});
  EXPECT_THAT(roots(1e-8), HasSubstr("S is not positive definite, or too ill-conditioned"));
  EXPECT_THAT(message_of([&] { inverse(a, {}); }), HasSubstr("A is not invertible, or too ill-conditioned"));
  FunctionReport report = matrix_sign(a, {.max_iterations = 30});
  EXPECT_FALSE(report.converged);
}

TEST(MatrixFunctions, NotANumberIsNamed) {
  const BlockSizes sizes({2, 3});
  Matrix a = identity<double>(sizes);
  a.put(0, 1, std::vector<double>{0, 0, 0, 0, INFINITY, 0});
  EXPECT_THAT(message_of([&] { matrix_sign(a, {}); }), HasSubstr("A: element [1, 3] is inf"));
  Matrix plain = without_symmetry(identity<double>(sizes));
  EXPECT_THAT(message_of([&] { matrix_sign(plain, {}); }), HasSubstr("symmetric"));
  plain.put(1, 0, std::vector<double>{0, 0, 0, NAN, 0, 0});
  EXPECT_THAT(message_of([&] { inverse(plain, {}); }), HasSubstr("A: element [3, 1] is nan"));
  EXPECT_THAT(message_of([&] { exponential(plain, {}); }), HasSubstr("A: element [3, 1] is nan"));
}

struct Case {
  DensityMethod method;
  bool by_mu;
};

TEST(DensityMatrix, AllMethodsAgreeWithLapack) {
  const ModelSystem system = some_system(30);
  DensityOptions reference{.method = DensityMethod::dense, .electrons = system.electrons};
  const Density exact = density_matrix(system.h, system.s, reference);
  ASSERT_EQ(exact.eigenvalues.size(), std::size_t(system.h.rows().total()));
  // Sylvester: as many levels below 0 as the model says.
  const auto below =
      std::lower_bound(exact.eigenvalues.begin(), exact.eigenvalues.end(), 0.0) - exact.eigenvalues.begin();
  EXPECT_EQ(double(below), system.electrons);
  for (const Case& one : {Case{DensityMethod::sign, true}, Case{DensityMethod::sign, false},
                          Case{DensityMethod::trs4, false}, Case{DensityMethod::dense, true}}) {
    DensityOptions options{.method = one.method, .function = {.eps = 1e-10}};
    (one.by_mu ? options.mu : options.electrons) = one.by_mu ? 0.0 : system.electrons;
    const Density density = density_matrix(system.h, system.s, options);
    EXPECT_TRUE(density.converged);
    EXPECT_LE(relative_difference(density.p, exact.p), 1e-6) << int(one.method);
    EXPECT_NEAR(density.electrons, system.electrons, 1e-5);
    EXPECT_NEAR(density.energy, exact.energy, 1e-6 * std::abs(exact.energy));
    const DensityCheck check = check_density(density.p, system.h, system.s, 1e-14);
    EXPECT_LE(check.idempotency, 1e-6);
    EXPECT_LE(check.commutation, 1e-6);
  }
}

TEST(DensityMatrix, EnergyErrorsFallWithEps) {
  const ModelSystem system = some_system(60);
  const double exact = density_matrix(system.h, system.s, {.method = DensityMethod::dense, .mu = 0.0}).energy;
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4}) {
    double before = INFINITY;
    for (const double eps : {1e-3, 1e-5, 1e-7, 1e-9}) {
      DensityOptions options{.method = method, .electrons = system.electrons, .function = {.eps = eps}};
      const Density density = density_matrix(system.h, system.s, options);
      const double error = std::abs(density.energy - exact) / 60;
      EXPECT_LT(error, std::max(before, 10 * eps)) << int(method) << " eps " << eps;  // as above
      EXPECT_LT(error, eps * 100);
      before = error;
    }
  }
}

TEST(DensityMatrix, MixedPrecisionStaysWithinEps) {
  const ModelSystem system = some_system(60);
  const double exact = density_matrix(system.h, system.s, {.method = DensityMethod::dense, .mu = 0.0}).energy;
  for (const double eps : {1e-3, 1e-5, 1e-7}) {
    DensityOptions options{.method = DensityMethod::trs4, .electrons = system.electrons, .function = {.eps = eps}};
    options.function.mixed = true;
    const Density density = density_matrix(system.h, system.s, options);
    EXPECT_TRUE(density.converged);
    EXPECT_LT(std::abs(density.energy - exact) / 60, eps * 100);
  }
}

TEST(DensityMatrix, MuOnlyCountsLevelsBelowIt) {
  const ModelSystem system = some_system(20);
  const Density dense = density_matrix(system.h, system.s, {.method = DensityMethod::dense, .mu = 0.0});
  const std::size_t homo = std::size_t(system.electrons) - 1;
  // In the middle of the widest gap among the occupied levels.
  std::size_t widest = 0;
  for (std::size_t k = 0; k < homo; ++k) {
    const auto gap = [&](std::size_t n) { return dense.eigenvalues[n + 1] - dense.eigenvalues[n]; };
    if (gap(k) > gap(widest)) widest = k;
  }
  DensityOptions options{.function = {.eps = 1e-11}};
  options.mu = (dense.eigenvalues[widest] + dense.eigenvalues[widest + 1]) / 2;
  const Density density = density_matrix(system.h, system.s, options);
  EXPECT_NEAR(density.electrons, double(widest + 1), 1e-4);
}

TEST(DensityMatrix, TheFactorOfSServesOneHamiltonianAfterAnother) {
  const ModelSystem system = some_system(20);
  const DensityOptions options{.method = DensityMethod::dense, .electrons = system.electrons};
  DensitySolver<Matrix> solver(system.s, options);
  for (const double shift : {0.0, 0.3, -2.0}) {
    Matrix h = system.h;
    scale(h, 1 + shift / 10);
    add_identity(h, shift);
    const Density kept = solver.density(h), fresh = density_matrix(h, system.s, options);
    EXPECT_EQ(kept.eigenvalues, fresh.eigenvalues);
    EXPECT_EQ(kept.p.to_dense(), fresh.p.to_dense());
  }
}

TEST(DensityMatrix, BadInput) {
  const ModelSystem system = some_system(10);
  const std::int64_t n = system.h.rows().total();
  const auto message = [&](DensityOptions options) {
    return message_of([&] { density_matrix(system.h, system.s, options); });
  };
  EXPECT_THAT(message({}), HasSubstr("mu or a number of electrons"));
  EXPECT_THAT(message({.mu = 0.0, .electrons = 3}), HasSubstr("mu or a number of electrons"));
  EXPECT_THAT(message({.electrons = 0}), HasSubstr("0 electrons"));
  EXPECT_THAT(message({.electrons = double(n)}), HasSubstr("less than one for each"));
  EXPECT_THAT(message({.method = DensityMethod::trs4, .mu = 0.0}), HasSubstr("TRS4 needs"));
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::dense}) {
    EXPECT_THAT(message({.method = method, .mu = -9.0}), HasSubstr("none of the"));
    EXPECT_THAT(message({.method = method, .mu = 9.0}), HasSubstr("all of the"));
  }
  Matrix indefinite = system.s;
  add_identity(indefinite, -1.0);
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4, DensityMethod::dense}) {
    EXPECT_THAT(
        message_of([&] { density_matrix(system.h, indefinite, {.method = method, .electrons = system.electrons}); }),
        HasSubstr("S is not positive definite"));
  }
  EXPECT_THAT(message_of([&] { density_matrix(system.h, identity<double>(BlockSizes({1})), {.mu = 0.0}); }),
              HasSubstr("H and S must be divided into the same blocks"));
  // All levels the same: no mu has half of them below it.
  const Matrix flat = identity<double>(BlockSizes({2, 3}));
  EXPECT_THAT(message_of([&] { density_matrix(flat, flat, {.electrons = 2}); }), HasSubstr("no mu has 2 electrons"));
}

TEST(DensityMatrix, LevelsOfTheModelAreWhereItSays) {
  const ModelSystem system = some_system(27);
  const Density dense = density_matrix(system.h, system.s, {.method = DensityMethod::dense, .mu = 0.0});
  for (double level : dense.eigenvalues) EXPECT_GT(std::abs(level), 0.28);
}

}  // namespace
}  // namespace quadrille::block_dft
