// Random products in every shape a caller may have, and the naive product they are compared with.
#pragma once

#include "modules/mgemm/product/arguments.h"
#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::testing {

struct Errors {
  double largest, rms;
};

/// A product with its matrices, which lie in longer memory than they need; the rest is poisoned with NaN.
template <class T>
struct Problem {
  mgemm::Gemm<T> gemm;
  std::vector<T> a, b, c, before;

  Problem(mgemm::Order order, mgemm::Transpose trans_a, mgemm::Transpose trans_b, std::int64_t m, std::int64_t n,
          std::int64_t k, double fraction = 0, double magnitude = 100, std::int64_t gap = 3) {
    gemm.order = order;
    gemm.trans_a = trans_a;
    gemm.trans_b = trans_b;
    gemm.m = m;
    gemm.n = n;
    gemm.k = k;
    const bool turn_a = trans_a == mgemm::Transpose::yes, turn_b = trans_b == mgemm::Transpose::yes;
    a = matrix(turn_a ? k : m, turn_a ? m : k, gap, fraction, magnitude, gemm.lda);
    b = matrix(turn_b ? n : k, turn_b ? k : n, 2 * gap, fraction, magnitude, gemm.ldb);
    c = matrix(m, n, gap + 1, 0, 1, gemm.ldc);
    before = c;
    point();
  }
  Problem(const Problem&) = delete;

  void scalars(T alpha, T beta) {
    gemm.alpha = alpha;
    gemm.beta = beta;
  }
  /// Puts NaN into C.
  void poison() {
    std::fill(c.begin(), c.end(), std::numeric_limits<T>::quiet_NaN());
    before = c;
  }
  std::int64_t place_in_c(std::int64_t i, std::int64_t j) const {
    return gemm.order == mgemm::Order::rows ? i * gemm.ldc + j : j * gemm.ldc + i;
  }

  /// Distances of C from the naive product, over all elements or about `sample` of them.
  Errors errors(std::int64_t sample = 0) const {
    mgemm::Gemm<T> old = gemm;
    old.c = const_cast<T*>(before.data());
    const std::int64_t total = gemm.m * gemm.n, step = sample == 0 ? 1 : std::max<std::int64_t>(1, total / sample) | 1;
    double most = 0, squares = 0;
#pragma omp parallel for schedule(dynamic) reduction(max : most) reduction(+ : squares)
    for (std::int64_t e = 0; e < total; e += step) {
      const std::int64_t i = e % gemm.m, j = e / gemm.m;
      const long double exact = naive_element(old, i, j);
      const double error = double(std::abs(static_cast<long double>(c[std::size_t(place_in_c(i, j))]) - exact));
      most = std::max(most, std::isnan(error) ? HUGE_VAL : error);
      squares += error * error;
    }
    return {most, std::sqrt(squares / double(std::max<std::int64_t>(1, (total + step - 1) / step)))};
  }
  double largest_error(std::int64_t sample = 0) const { return errors(sample).largest; }
  /// What lies between the lines of C has been left alone.
  void expect_gaps_untouched() const {
    const bool by_rows = gemm.order == mgemm::Order::rows;
    const std::int64_t length = by_rows ? gemm.n : gemm.m;
    for (std::size_t p = 0; p < c.size(); ++p) {
      if (std::int64_t(p) % gemm.ldc < length) continue;
      ASSERT_TRUE(std::isnan(c[p])) << "place " << p;
    }
  }
  std::string name() const {
    return std::string(gemm.order == mgemm::Order::rows ? "rows " : "columns ") +
           (gemm.trans_a == mgemm::Transpose::yes ? "T" : "N") + (gemm.trans_b == mgemm::Transpose::yes ? "T " : "N ") +
           std::to_string(gemm.m) + " x " + std::to_string(gemm.n) + " x " + std::to_string(gemm.k);
  }

 private:
  std::vector<T> matrix(std::int64_t rows, std::int64_t cols, std::int64_t gap, double fraction, double magnitude,
                        std::int64_t& ld) {
    const bool by_rows = gemm.order == mgemm::Order::rows;
    const std::int64_t length = by_rows ? cols : rows, lines = by_rows ? rows : cols;
    ld = std::max<std::int64_t>(1, length + gap);
    const std::vector<double> numbers = salted_matrix(ld * lines, fraction, magnitude);
    std::vector<T> result(numbers.begin(), numbers.end());
    for (std::int64_t n = 0; n < lines; ++n) {
      for (std::int64_t i = length; i < ld; ++i) result[std::size_t(n * ld + i)] = std::numeric_limits<T>::quiet_NaN();
    }
    return result;
  }
  void point() {
    gemm.a = a.data();
    gemm.b = b.data();
    gemm.c = c.data();
  }
};

/// Calls f(order, trans_a, trans_b) for all eight.
template <class Function>
void for_all_storages(Function f) {
  for (auto order : {mgemm::Order::columns, mgemm::Order::rows})
    for (auto trans_a : {mgemm::Transpose::no, mgemm::Transpose::yes})
      for (auto trans_b : {mgemm::Transpose::no, mgemm::Transpose::yes}) f(order, trans_a, trans_b);
}

}  // namespace quadrille::testing
