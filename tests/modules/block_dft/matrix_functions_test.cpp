// Functions of matrices and density matrices against eigenvectors of LAPACK and against what defines them.
#include "modules/block_dft/functions/density.h"

#include "core/error.h"
#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/scf/model_system.h"
#include "tests/modules/block_dft/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

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
    EXPECT_LT(error, std::max(before, 10 * eps)) << "eps " << eps;  // all residuals below 10 eps are as good
    EXPECT_LT(error, 20 * eps) << "eps " << eps;
    EXPECT_GT(roots.report.bound, 0);
    before = error;
  }
}

/// |Z^T S Z - I| / |I|, Frobenius.
double distance_from_inverse_factor(const Matrix& z, const Matrix& s) {
  Matrix sz(s.rows(), s.rows());
  multiply(1.0, Transpose::no, s, Transpose::no, z, 0.0, sz);
  return product_error(transposed(z), sz, identity<double>(s.rows()));
}

/// What rounding does to an inverse, or a root of one.
double rounding_of(double condition) { return 100 * 0x1p-52 * condition; }

TEST(MatrixFunctions, IllConditionedRootsAndInverseAreRight) {
  for (const double condition : {1e4, 1e6, 1e9}) {
    const IllConditioned problem(random_sizes(12, {2, 3, 5, 8}, next_seed()), condition, next_seed());
    const Matrix s = problem.power(1), one = identity<double>(s.rows());
    for (const double eps : {1e-6, 1e-10}) {
      const double limit = 20 * eps + rounding_of(condition);
      const double of_elements = 10 * eps * std::sqrt(double(s.rows().total())) + rounding_of(condition);
      for (const std::optional<int> order :
           {std::optional<int>(), std::optional(2), std::optional(3), std::optional(5)}) {
        const SquareRoots roots = square_roots(s, {.eps = eps, .order = order});
        const auto where = ::testing::Message() << condition << ", eps " << eps << ", order " << order.value_or(0);
        EXPECT_TRUE(roots.report.converged) << where;
        EXPECT_LE(distance_from_inverse_factor(roots.inverse_root, s), limit) << where;
        EXPECT_LE(relative_difference(roots.inverse_root, problem.power(-0.5)), of_elements) << where;
        EXPECT_LE(relative_difference(roots.root, problem.power(0.5)), of_elements) << where;
        EXPECT_GT(roots.report.condition, condition / 20) << where;
        EXPECT_LT(roots.report.condition, condition * 2) << where;
      }
      for (const Matrix& a : {s, without_symmetry(s)}) {
        const Inverse found = inverse(a, {.eps = eps});
        EXPECT_TRUE(found.report.converged) << condition;
        EXPECT_EQ(found.matrix.symmetry(), a.symmetry());
        if (a.symmetry() == Symmetry::none) {
          EXPECT_LE(product_error(a, found.matrix, one), limit) << condition << ", eps " << eps;
        }
        EXPECT_LE(relative_difference(found.matrix, problem.power(-1)), of_elements) << condition << ", eps " << eps;
      }
    }
  }
}

TEST(MatrixFunctions, IllConditionedRootsOfSparseMatrices) {
  for (const double condition : {1e4, 1e6, 1e8}) {
    const Matrix s = gaussian_chain(random_sizes(40, {2, 3, 4}, next_seed()), condition);
    ASSERT_LT(s.occupation(), 0.5);
    for (const double eps : {1e-4, 1e-6, 1e-8}) {
      const SquareRoots roots = square_roots(s, {.eps = eps});
      EXPECT_LE(distance_from_inverse_factor(roots.inverse_root, s), 20 * eps + rounding_of(condition))
          << condition << ", eps " << eps;
    }
  }
}

TEST(MatrixFunctions, IllConditionedBeyondDoubleIsRefused) {
  const BlockSizes sizes = random_sizes(10, {2, 3, 5}, next_seed());
  const auto message = [](const Matrix& s) { return message_of([&] { square_roots(s, {}); }); };
  EXPECT_THAT(message(IllConditioned(sizes, 1e14, next_seed()).power(1)),
              HasSubstr("limit 1e+12; from an overlap matrix remove the most diffuse basis functions, or use"));
  EXPECT_THAT(message(IllConditioned(sizes, 1e14, next_seed()).power(1)), HasSubstr("S is not positive definite, or"));
  Matrix indefinite = IllConditioned(sizes, 1e9, next_seed()).power(1);
  add_identity(indefinite, -1e-6);
  EXPECT_THAT(message(indefinite), HasSubstr("S is not positive definite: found after"));
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
  EXPECT_THAT(roots(1e-8), HasSubstr("S is not positive definite, or too ill-conditioned: condition number above"));
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
  for (const Case& one :
       {Case{DensityMethod::sign, true}, Case{DensityMethod::sign, false}, Case{DensityMethod::trs4, false},
        Case{DensityMethod::canonical, false}, Case{DensityMethod::dense, true}}) {
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
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4, DensityMethod::canonical}) {
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

TEST(DensityMatrix, IllConditionedOverlapAndEstimateOfTheError) {
  const BlockSizes sizes = random_sizes(16, {2, 3, 5}, next_seed());
  const double condition = 1e5;
  const IllConditioned problem(sizes, condition, next_seed());
  // H = S^1/2 K S^1/2 with the levels of K: a third of them near -1, the others near 1.
  const std::int64_t n = sizes.total(), occupied = n / 3;
  const Matrix noise = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, next_seed());
  std::vector<double> levels(static_cast<std::size_t>(n));
  double exact = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    levels[std::size_t(k)] = (k < occupied ? -1 : 1) + 0.3 * noise.data()[std::size_t(k)];
    if (k < occupied) exact += levels[std::size_t(k)];
  }
  const Matrix k = IllConditioned(sizes, 1, next_seed()).matrix(levels), root = problem.power(0.5),
               s = problem.power(1);
  Matrix left(sizes, sizes), h(sizes, sizes, Symmetry::symmetric);
  multiply(1.0, Transpose::no, root, Transpose::no, k, 0.0, left);
  multiply(1.0, Transpose::no, left, Transpose::no, root, 0.0, h);
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::trs4, DensityMethod::canonical}) {
    for (const double eps : {1e-4, 1e-6, 1e-8}) {
      const DensityOptions options{.method = method, .electrons = double(occupied), .function = {.eps = eps}};
      const Density density = density_matrix(h, s, options);
      EXPECT_TRUE(density.converged);
      const double error = std::abs(density.energy - exact);
      EXPECT_LE(error, 100 * eps * double(occupied)) << int(method) << " eps " << eps;
      EXPECT_NEAR(density.electrons, double(occupied), 100 * eps * double(occupied)) << int(method) << " eps " << eps;
      const double estimate = check_density(density.p, h, s, eps / 100).energy_error;
      const double apart = (10 * eps * eps + rounding_of(condition)) * double(occupied);
      EXPECT_NEAR(error, estimate, 0.5 * error + apart) << int(method) << " eps " << eps;
    }
  }
}

TEST(DensityMatrix, MatricesOfOtherProgramsHaveErrorsBelowEps) {
  const char* data = std::getenv("QUADRILLE_DATA");
  if (data == nullptr) GTEST_SKIP() << "QUADRILLE_DATA names no folder with density/w8dz.h5 and others";
  struct File {
    const char* name;
    double occupied;
  };
  for (const File& file : {File{"w8dz", 40}, File{"w8aug", 40}, File{"h60", 30}}) {
    const std::string path = std::string(data) + "/density/" + file.name;
    const BlockSizes sizes = read_block_sizes(path + ".blocks");
    const Matrix h = read_symmetric(path + ".h5", "H", sizes), s = read_symmetric(path + ".h5", "S", sizes);
    const double exact = density_matrix(h, s, {.method = DensityMethod::dense, .electrons = file.occupied}).energy;
    for (const double eps : {1e-4, 1e-6, 1e-8}) {
      const DensityOptions options{.method = DensityMethod::trs4, .electrons = file.occupied, .function = {.eps = eps}};
      const Density density = density_matrix(h, s, options);
      const double error = std::abs(density.energy - exact);
      EXPECT_LE(error, eps * sizes.count()) << file.name << ", eps " << eps;
      EXPECT_NEAR(density.electrons, file.occupied, 10 * eps) << file.name << ", eps " << eps;
      const double estimate = check_density(density.p, h, s, eps / 100).energy_error;
      EXPECT_LE(error, 10 * estimate + 1e-9) << file.name << ", eps " << eps;
      EXPECT_LE(estimate, 10 * error + 1e-9) << file.name << ", eps " << eps;
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
  EXPECT_THAT(message({.electrons = double(n)}), HasSubstr("must be > 0 and < "));
  EXPECT_THAT(message({.method = DensityMethod::trs4, .mu = 0.0}), HasSubstr("TRS4 needs"));
  EXPECT_THAT(message({.method = DensityMethod::canonical, .mu = 0.0}), HasSubstr("canonical purification needs"));
  for (const DensityMethod method : {DensityMethod::sign, DensityMethod::dense}) {
    EXPECT_THAT(message({.method = method, .mu = -9.0}), HasSubstr("none of the"));
    EXPECT_THAT(message({.method = method, .mu = 9.0}), HasSubstr("all of the"));
  }
  Matrix indefinite = system.s;
  add_identity(indefinite, -1.0);
  for (const DensityMethod method :
       {DensityMethod::sign, DensityMethod::trs4, DensityMethod::canonical, DensityMethod::dense}) {
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
