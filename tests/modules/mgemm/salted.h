// Matrices with a background of small numbers and a few large ones, and the naive product they are compared with.
#pragma once

#include "core/random/random.h"
#include "modules/mgemm/product/arguments.h"
#include "modules/shared/dense/dense_view.h"
#include "tests/testing/random_seed.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace quadrille::testing {

/// `count` numbers uniform in [-1, 1], each with probability `fraction` replaced by +-magnitude with a spread of +-10
/// (+-10 % of small magnitudes).
inline std::vector<double> salted_matrix(std::int64_t count, double fraction, double magnitude) {
  std::vector<double> numbers(static_cast<std::size_t>(count));
  const std::uint64_t seed = next_seed();
  const double spread = std::fmin(10, magnitude / 10);
  constexpr std::int64_t stretch = 4096;
#pragma omp parallel for
  for (std::int64_t first = 0; first < count; first += stretch) {
    SiteRandom random(seed, RandomPurpose::Test, first);
    for (std::int64_t i = first; i < std::min(count, first + stretch); ++i) {
      const double background = 2 * random.uniform() - 1;
      numbers[std::size_t(i)] = background;
      if (random.uniform() >= fraction) continue;
      numbers[std::size_t(i)] = std::copysign(magnitude + spread * (2 * random.uniform() - 1), background);
    }
  }
  return numbers;
}

/// alpha op(A) op(B) + beta C of one element in long double, by the definition; beta = 0 does not read C.
template <class T>
long double naive_element(const mgemm::Gemm<T>& g, std::int64_t i, std::int64_t j) {
  const auto at = [&](const T* data, std::int64_t row, std::int64_t col, std::int64_t ld) {
    return static_cast<long double>(g.order == mgemm::Order::rows ? data[row * ld + col] : data[col * ld + row]);
  };
  long double sum = 0;
  for (std::int64_t l = 0; l < g.k; ++l) {
    const long double a = g.trans_a == mgemm::Transpose::yes ? at(g.a, l, i, g.lda) : at(g.a, i, l, g.lda);
    const long double b = g.trans_b == mgemm::Transpose::yes ? at(g.b, j, l, g.ldb) : at(g.b, l, j, g.ldb);
    sum += a * b;
  }
  sum *= static_cast<long double>(g.alpha);
  return g.beta == T(0) ? sum : sum + static_cast<long double>(g.beta) * at(g.c, i, j, g.ldc);
}

}  // namespace quadrille::testing
