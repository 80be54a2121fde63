// Calls GEMM by all its names as any program may, knows nothing of who answers, and compares with the naive product. At
// the end it says how often it has called what. With QUADRILLE_BLAS_DELTA in the environment, errors must be those of
// products in single precision of elements up to 1, and else those of double.
#include "tests/modules/mgemm/problem.h"

#include <cblas.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void zgemm_(const char*, const char*, const int*, const int*, const int*, const std::complex<double>*,
            const std::complex<double>*, const int*, const std::complex<double>*, const int*,
            const std::complex<double>*, std::complex<double>*, const int*);
}

namespace quadrille::testing {
namespace {

using mgemm::Order, mgemm::Transpose, mgemm::Gemm;
using Complex = std::complex<double>;

std::atomic<int> dgemm_calls = 0, sgemm_calls = 0, zgemm_calls = 0;

class SaysItsCalls final : public ::testing::Environment {
  void TearDown() override {
    std::printf("called: dgemm %d sgemm %d zgemm %d\n", dgemm_calls.load(), sgemm_calls.load(), zgemm_calls.load());
  }
};
const ::testing::Environment* const says_its_calls = ::testing::AddGlobalTestEnvironment(new SaysItsCalls);

void fortran(const char* a, const char* b, const int (&x)[6], const Gemm<double>& g) {
  dgemm_(a, b, x, x + 1, x + 2, &g.alpha, g.a, x + 3, g.b, x + 4, &g.beta, g.c, x + 5);
  ++dgemm_calls;
}
void fortran(const char* a, const char* b, const int (&x)[6], const Gemm<float>& g) {
  sgemm_(a, b, x, x + 1, x + 2, &g.alpha, g.a, x + 3, g.b, x + 4, &g.beta, g.c, x + 5);
  ++sgemm_calls;
}
void c(CBLAS_ORDER order, CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, const int (&x)[6], const Gemm<double>& g) {
  cblas_dgemm(order, a, b, x[0], x[1], x[2], g.alpha, g.a, x[3], g.b, x[4], g.beta, g.c, x[5]);
  ++dgemm_calls;
}
void c(CBLAS_ORDER order, CBLAS_TRANSPOSE a, CBLAS_TRANSPOSE b, const int (&x)[6], const Gemm<float>& g) {
  cblas_sgemm(order, a, b, x[0], x[1], x[2], g.alpha, g.a, x[3], g.b, x[4], g.beta, g.c, x[5]);
  ++sgemm_calls;
}

enum class Name { fortran, c };

template <class T>
void call(Name name, const Gemm<T>& g) {
  const int x[] = {int(g.m), int(g.n), int(g.k), int(g.lda), int(g.ldb), int(g.ldc)};
  if (name == Name::fortran) {
    const auto letter = [](Transpose t) { return t == Transpose::yes ? "T" : "n"; };
    return fortran(letter(g.trans_a), letter(g.trans_b), x, g);
  }
  const auto transpose = [](Transpose t) { return t == Transpose::yes ? CblasConjTrans : CblasNoTrans; };
  c(g.order == Order::rows ? CblasRowMajor : CblasColMajor, transpose(g.trans_a), transpose(g.trans_b), x, g);
}

constexpr double fraction = 0.02, salt = 100, largest = 110;

bool mixed() { return std::getenv("QUADRILLE_BLAS_DELTA") != nullptr; }

/// gamma_{k+2} k max|A| max|B| of each precision that takes part, and what beta C adds.
template <class T>
double tolerance(const Gemm<T>& g) {
  const double k = double(g.k), terms = (k + 4) * k * std::abs(double(g.alpha));
  const double of_t = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
  double bound = of_t * (terms * largest * largest + 4 * std::abs(double(g.beta)));
  if (std::is_same_v<T, double> && mixed()) bound += 0x1p-24 * terms;
  return bound;
}

template <class T>
void expect_right(Name name, Problem<T>& problem) {
  call(name, problem.gemm);
  SCOPED_TRACE(problem.name() + (name == Name::c ? " c" : " fortran"));
  EXPECT_LE(problem.largest_error(), tolerance(problem.gemm));
  problem.expect_gaps_untouched();
}

template <class T>
void expect_right_in_every_storage() {
  constexpr std::int64_t sizes[][3] = {{1, 1, 1}, {7, 5, 3}, {33, 40, 70}};
  constexpr double scalars[][2] = {{1, 0}, {-0.5, 1}, {1.5, -2}};
  for_all_storages([&](Order order, Transpose trans_a, Transpose trans_b) {
    for (const auto& [m, n, k] : sizes) {
      for (const auto& [alpha, beta] : scalars) {
        for (const Name name : {Name::fortran, Name::c}) {
          if (name == Name::fortran && order == Order::rows) continue;
          Problem<T> problem(order, trans_a, trans_b, m, n, k, fraction, salt);
          problem.scalars(T(alpha), T(beta));
          if (beta == 0) problem.poison();
          expect_right(name, problem);
        }
      }
    }
  });
}

TEST(GemmCalls, DoubleInEveryStorage) { expect_right_in_every_storage<double>(); }
TEST(GemmCalls, SingleInEveryStorage) { expect_right_in_every_storage<float>(); }

TEST(GemmCalls, SinglePrecisionTakesPartWhereItIsAskedFor) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 60, 50, 70, fraction, salt);
  call(Name::fortran, problem.gemm);
  const double error = problem.largest_error();  // of single precision near 1e-6
  if (mixed()) {
    EXPECT_GT(error, 1e-10);
  } else {
    EXPECT_LT(error, 1e-8);
  }
}

TEST(GemmCalls, NothingToMultiply) {
  constexpr std::int64_t sizes[][3] = {{0, 4, 3}, {4, 0, 3}, {4, 5, 0}};
  for (const Name name : {Name::fortran, Name::c}) {
    for (const auto& [m, n, k] : sizes) {
      Problem<double> problem(Order::columns, Transpose::no, Transpose::no, m, n, k);
      problem.scalars(1, 0.5);
      expect_right(name, problem);
    }
    Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, 30, 20, 10);
    problem.scalars(0, -2);  // A and B are finite: small products of OpenBLAS 0.3.26 read them
    call(name, problem.gemm);
    for (std::int64_t i = 0; i < 30; ++i) {
      for (std::int64_t j = 0; j < 20; ++j) {
        const std::size_t place = std::size_t(problem.place_in_c(i, j));
        ASSERT_EQ(problem.c[place], -2 * problem.before[place]);
      }
    }
  }
}

TEST(GemmCalls, WhatIsNotFiniteGoesOnToTheBlas) {
  Problem<double> problem(Order::rows, Transpose::no, Transpose::no, 20, 30, 40);
  problem.a[std::size_t(3 * problem.gemm.lda + 5)] = std::numeric_limits<double>::quiet_NaN();
  call(Name::c, problem.gemm);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::int64_t j = 0; j < 30; ++j) {
      ASSERT_EQ(std::isnan(problem.c[std::size_t(problem.place_in_c(i, j))]), i == 3) << i << ' ' << j;
    }
  }
}

TEST(GemmCalls, WrongArgumentsGoOnToTheBlas) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::no, 20, 30, 40);
  problem.gemm.lda = 19;
  call(Name::fortran, problem.gemm);  // OpenBLAS says so on standard output or error, and returns
  problem.gemm.lda = 23;
  problem.gemm.n = -1;
  call(Name::fortran, problem.gemm);
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::size_t place = std::size_t(problem.place_in_c(i, 0));
    EXPECT_EQ(problem.c[place], problem.before[place]);
  }
}

TEST(GemmCalls, ComplexConjugates) {
  const Complex a[] = {{1, 2}, {3, -1}, {0, 1}, {-2, 5}}, b[] = {{2, 0}, {1, 1}, {4, -3}, {0, 2}};  // by columns
  Complex wanted[4];
  const Complex alpha(0, 1), beta(2, -1), old(1, 1);
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {  // A^+ B
      wanted[i + 2 * j] =
          alpha * (std::conj(a[2 * i]) * b[2 * j] + std::conj(a[1 + 2 * i]) * b[1 + 2 * j]) + beta * old;
    }
  }
  const int two = 2;
  for (const Name name : {Name::fortran, Name::c}) {
    Complex found[] = {old, old, old, old};
    if (name == Name::fortran) {
      zgemm_("C", "N", &two, &two, &two, &alpha, a, &two, b, &two, &beta, found, &two);
    } else {
      cblas_zgemm(CblasColMajor, CblasConjTrans, CblasNoTrans, 2, 2, 2, &alpha, a, 2, b, 2, &beta, found, 2);
    }
    ++zgemm_calls;
    for (int e = 0; e < 4; ++e) EXPECT_LT(std::abs(found[e] - wanted[e]), 1e-12);
  }
}

TEST(GemmCalls, SeveralThreads) {
  constexpr int threads = 4, products = 3;
  std::vector<std::unique_ptr<Problem<double>>> problems;
  for (int p = 0; p < threads * products; ++p) {
    problems.push_back(std::make_unique<Problem<double>>(Order::rows, Transpose::no, Transpose::yes, 300, 40 + 20 * p,
                                                         90, fraction, salt));
  }
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int p = 0; p < products; ++p) call(Name::c, problems[std::size_t(t * products + p)]->gemm);
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const auto& problem : problems) EXPECT_LE(problem->largest_error(), tolerance(problem->gemm));
}

}  // namespace
}  // namespace quadrille::testing
