// Products of 8-bit integers on the GPU: by every algorithm the host's sums, to the last bit.
#include "modules/shared/dense/cuda/integer_product.h"
#include "core/error.h"
#include "core/random/random.h"
#include "tests/gpu/on_device.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace quadrille::cuda {
namespace {

using testing::OnDevice;

constexpr std::int32_t poison = std::numeric_limits<std::int32_t>::min();

/// Integers from -128 to 127 in columns with gaps, and C with more rows than are written.
class CudaIntegerProduct : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {
 protected:
  static std::vector<std::int8_t> integers(std::int64_t count) {
    static SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
    std::vector<std::int8_t> x(static_cast<std::size_t>(count));
    for (std::int8_t& digit : x) digit = std::int8_t(int(256 * random.uniform()) - 128);
    return x;
  }

  template <class Multiply>
  std::vector<std::int32_t> product(const Multiply& multiply) {
    c_there.send(std::vector<std::int32_t>(std::size_t(ldc * n), poison));
    multiply(IntegerProduct{m, n, k, a_there.get(), ld, b_there.get(), ld, c_there.get(), ldc});
    return c_there.numbers();
  }

  void expect_sums(const std::vector<std::int32_t>& c) {
    const std::int64_t step = std::max<std::int64_t>(1, m * n / 5000) | 1;  // some thousand of them
    for (std::int64_t place = 0; place < m * n; place += step) {
      const std::int64_t i = place % m, j = place / m;
      std::int32_t sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += a[std::size_t(i * ld + l)] * b[std::size_t(j * ld + l)];
      ASSERT_EQ(c[std::size_t(j * ldc + i)], sum) << i << ", " << j;
    }
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = m; i < ldc; ++i) ASSERT_EQ(c[std::size_t(j * ldc + i)], poison) << i << ", " << j;
    }
  }

  const std::int64_t m = GetParam()[0], n = GetParam()[1], k = GetParam()[2], ld = k + 64, ldc = m + 16;
  const std::vector<std::int8_t> a = integers(ld * m), b = integers(ld * n);
  OnDevice<std::int8_t> a_there{a}, b_there{b};
  OnDevice<std::int32_t> c_there{std::size_t(ldc * n)};
};

/// Below the size that is tuned, and above it with extents that are no powers of two.
INSTANTIATE_TEST_SUITE_P(Extents, CudaIntegerProduct,
                         ::testing::Values(std::array<std::int64_t, 3>{16, 16, 16},
                                           std::array<std::int64_t, 3>{48, 32, 8192},
                                           std::array<std::int64_t, 3>{1008, 1040, 1216},
                                           std::array<std::int64_t, 3>{3088, 16, 30016}));

TEST_P(CudaIntegerProduct, SumsAreThoseOfTheHostByEveryAlgorithm) {
  const std::vector<std::int32_t> chosen = product([](const IntegerProduct& p) { multiply_integers(p); });
  expect_sums(chosen);
  const int algorithms = integer_algorithms({m, n, k, nullptr, ld, nullptr, ld, nullptr, ldc});
  int done = 0;
  for (int algorithm = 0; algorithm < algorithms; ++algorithm) {
    try {
      EXPECT_EQ(product([&](const IntegerProduct& p) { multiply_integers(p, algorithm); }), chosen) << algorithm;
      ++done;
    } catch (const Error& error) {  // what serves the next powers of two need not serve this shape
      EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.message();
    }
  }
  EXPECT_GE(done, 2) << "of " << algorithms;
}

TEST_P(CudaIntegerProduct, WhatIsNotAlignedIsRefused) {
  IntegerProduct bad{m, n, k, a_there.get(), ld, b_there.get(), ld, c_there.get(), ldc};
  bad.lda += 8;
  EXPECT_THROW(multiply_integers(bad), Error);
  bad.lda -= 8;
  bad.a += 4;
  EXPECT_THROW(multiply_integers(bad, 0), Error);
}

}  // namespace
}  // namespace quadrille::cuda
