// Every fused operation against naive loops in double, in every precision, width and subset.
#include "core/blas/blas.h"

#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/random/random.h"
#include "tests/core/blas_testing.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <span>
#include <vector>

namespace quadrille {
namespace {

using namespace testing::algebra;

TEST_F(Blas, ZeroCopyScale) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const Array x = values(f[0]);
    Field fresh(f[0].desc());  // made not-a-number: what is overwritten is not read
    const std::vector<unsigned char> not_a_number(fresh.desc().parity_bytes(), 0xff);
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      if (fresh.holds(p)) testing::backend().copy_in(fresh.numbers(p), not_a_number.data(), not_a_number.size());
    }
    blas::zero(fresh);
    EXPECT_EQ(norm2(values(fresh)), 0);
    Field copy(f[0].desc());
    blas::copy(copy, f[0]);
    expect_field(copy, x, tolerance);
    blas::scale(-2.5, f[0]);
    expect_field(f[0], combine(-2.5, x, 0, x), tolerance);
  });
}

TEST_F(Blas, LinearCombinations) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const Array x = values(f[0]);
    Array y = values(f[1]);
    blas::axpy(0.3, f[0], f[1]);
    expect_field(f[1], y = combine(0.3, x, 1, y), tolerance);
    y = values(f[1]);
    blas::xpay(f[0], -0.8, f[1]);
    expect_field(f[1], combine(1, x, -0.8, y), tolerance);
    y = values(f[1]);
    blas::caxpy(a, f[0], f[1]);
    expect_field(f[1], combine(a, x, 1, y), tolerance);
    y = values(f[1]);
    blas::cxpay(f[0], b, f[1]);
    expect_field(f[1], combine(1, x, b, y), tolerance);
    y = values(f[1]);
    const Array p = values(f[2]);
    blas::axpy_xpay(0.7, f[2], f[1], f[0], -1.2);
    expect_field(f[1], combine(0.7, p, 1, y), tolerance);
    expect_field(f[2], combine(1, x, -1.2, p), tolerance);
  });
}

TEST_F(Blas, Reductions) {
  for_all([&](std::vector<Field>& f, double) {
    const Array x = values(f[0]), y = values(f[1]);
    const double scale = std::sqrt(norm2(x) * norm2(y));
    EXPECT_NEAR(blas::norm2(f[0]) / norm2(x), 1, 1e-6);
    expect_sum(blas::dot(f[0], f[1]), dot(x, y), scale, 1e-6);
  });
}

TEST_F(Blas, UpdatesWithSums) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const Array x = values(f[0]);
    Array y = values(f[1]);
    double sum = blas::axpy_norm2(0.9, f[0], f[1]);
    expect_field(f[1], combine(0.9, x, 1, y), tolerance);
    EXPECT_NEAR(sum / norm2(combine(0.9, x, 1, y)), 1, 10 * tolerance);
    y = values(f[3]);
    sum = blas::subtract_norm2(f[0], f[3]);
    expect_field(f[3], combine(1, x, -1, y), tolerance);
    EXPECT_NEAR(sum / norm2(combine(1, x, -1, y)), 1, 10 * tolerance);
  });
}

TEST_F(Blas, SeveralFieldsInAPass) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    std::vector<Array> x;
    std::vector<const Field*> fields;
    for (const Field& field : f) {
      x.push_back(values(field));
      fields.push_back(&field);
    }
    const std::vector<Complex> coefficients{a, b, w, a * b, b * w};
    for (const std::size_t count : {1, 2, 3, 4, 5}) {
      std::vector<Complex> sums(count);
      const auto some = std::span(fields).first(count);
      blas::dots(some, f[2], sums.data());
      Field y(f[2].desc());
      blas::copy(y, f[3]);
      blas::caxpys(std::span(coefficients).first(count), some, y);
      Array expected = x[3];
      for (std::size_t i = 0; i < count; ++i) {
        expect_sum(sums[i], dot(x[i], x[2]), std::sqrt(norm2(x[i]) * norm2(x[2])), 1e-6);
        expected = combine(1, expected, coefficients[i], x[i]);
      }
      expect_field(y, expected, 5 * tolerance);
    }
    const blas::DotNorm2 both = blas::dot_norm2(f[0], f[1]);
    expect_sum(both.dot, dot(x[0], x[1]), std::sqrt(norm2(x[0]) * norm2(x[1])), 1e-6);
    EXPECT_NEAR(both.norm2 / norm2(x[0]), 1, 1e-6);
    const double sum = blas::caxpy_norm2(a, f[0], f[1]);
    expect_field(f[1], combine(a, x[0], 1, x[1]), tolerance);
    EXPECT_NEAR(sum / norm2(combine(a, x[0], 1, x[1])), 1, 10 * tolerance);
  });
}

TEST_F(Blas, ManyCombinationsOfManyFields) {
  const Lattice lattice({4, 4, 6, 4});
  for (const Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    const FieldDesc desc = FieldDesc::spinor(lattice, Subset::Even, p, testing::backend());
    for (const auto& [columns, rows] : {std::pair{1, 1}, {4, 4}, {9, 6}, {3, 8}, {8, 3}, {13, 11}}) {
      SCOPED_TRACE(::testing::Message() << to_string(p) << ": " << rows << " sums of " << columns);
      std::vector<Field> x, y, expected;
      std::vector<const Field*> from;
      std::vector<Field*> to;
      std::vector<double> a;
      for (int i = 0; i < columns; ++i) {
        x.emplace_back(desc);
        fill_gaussian(x.back(), testing::next_seed());
      }
      SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
      for (int k = 0; k < rows * columns; ++k) a.push_back(random.normal());
      for (int k = 0; k < rows; ++k) {
        y.emplace_back(desc);
        expected.emplace_back(desc);
        fill_gaussian(y.back(), testing::next_seed());
        blas::copy(expected.back(), y.back());
        for (int i = 0; i < columns; ++i)
          blas::axpy(a[std::size_t(k * columns + i)], x[std::size_t(i)], expected.back());
      }
      for (const Field& field : x) from.push_back(&field);
      for (Field& field : y) to.push_back(&field);
      blas::combine(a, from, to);
      for (int k = 0; k < rows; ++k) {
        Field& difference = expected[std::size_t(k)];
        const double size = blas::norm2(difference);
        blas::axpy(-1, y[std::size_t(k)], difference);
        // Each of up to 13 sums is rounded to the format, whose unit is relative to the largest number of a site.
        EXPECT_LT(std::sqrt(blas::norm2(difference) / size), 100 * rounding_unit(p));
      }
    }
  }
}

TEST_F(Blas, SumsHaveTheSameBitsForAnyThreads) {
  const int threads = omp_get_max_threads();
  const Lattice lattice({16, 8, 8, 16});
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    Field x(FieldDesc::spinor(lattice, Subset::Full, p, testing::backend())), y(x.desc());
    fill_gaussian(x, testing::next_seed());
    fill_gaussian(y, testing::next_seed());
    omp_set_num_threads(1);
    const Complex one = blas::dot(x, y);
    for (int n : {2, 3, 7}) {
      omp_set_num_threads(n);
      EXPECT_EQ(blas::dot(x, y), one) << n << " threads";
    }
    omp_set_num_threads(threads);
  }
}

TEST_F(Blas, SingleSumsAreAccumulatedInDouble) {
  // A sum of 400,000 squares in single would be off by 1e-4 or so.
  const Lattice lattice({16, 16, 8, 8});
  Field x(FieldDesc::spinor(lattice, Subset::Full, Precision::Single, testing::backend()));
  fill_gaussian(x, testing::next_seed());
  Field wide(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend()));
  convert(wide, x);
  EXPECT_NEAR(blas::norm2(x) / blas::norm2(wide), 1, 1e-14);
}

TEST_F(Blas, NonFiniteComponentsReachTheSum) {
  const Lattice lattice({4, 4, 4, 4});
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    Field x(FieldDesc::spinor(lattice, Subset::Full, p, testing::backend()));
    HostSpinor host({4, 4, 4, 4});
    for (Complex& c : host.data) c = 1;
    host.data[1234] = {0, HUGE_VAL};
    import_spinor(x, host);
    EXPECT_FALSE(std::isfinite(blas::norm2(x))) << to_string(p);
    blas::scale(0.5, x);
    EXPECT_FALSE(std::isfinite(blas::norm2(x))) << to_string(p);
    Field y(FieldDesc::of({"color vectors", 1, 6, true}, lattice, Subset::Full, p, testing::backend()));
    fill_gaussian(y, testing::next_seed());
    blas::scale(HUGE_VAL, y);
    EXPECT_FALSE(std::isfinite(blas::norm2(y))) << to_string(p);
  }
}

TEST_F(Blas, RefusesFieldsOfDifferentDescriptions) {
  const Lattice lattice({4, 4, 4, 4});
  Field x(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend()));
  Field y(FieldDesc::spinor(lattice, Subset::Full, Precision::Single, testing::backend()));
  EXPECT_THROW(blas::axpy(1, x, y), Error);
}

TEST_F(Blas, GaussianFieldsDoNotDependOnLayoutOrThreads) {
  const Lattice lattice({4, 6, 8, 10});
  const std::uint64_t seed = testing::next_seed();
  FieldDesc scalar = FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend());
  scalar.layout.lanes = 1;
  Field x(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend())), y(scalar);
  fill_gaussian(x, seed);
  fill_gaussian(y, seed);
  EXPECT_EQ(values(x), values(y));
  EXPECT_NEAR(norm2(values(x)) / double(lattice.volume() * 24), 1, 0.05);
}

TEST(BlasFields, WhatIsNotAVectorIsRefused) {
  const Lattice lattice({4, 4, 2, 2});
  const auto refusal = [&](const FieldDesc& desc) -> std::string {
    Field field(desc);
    try {
      blas::zero(field);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unsupported);
      EXPECT_THROW((void)blas::dot(field, field), Error);
      return error.message();
    }
    return "";
  };
  const auto of = [&](const SiteFormat& format, Precision precision) {
    return FieldDesc::of(format, lattice, Subset::Full, precision, testing::backend());
  };
  const std::string refused = "field algebra works on vectors of complex numbers, not on ";
  EXPECT_EQ(refusal(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, testing::backend())),
            refused + "links");
  EXPECT_EQ(refusal(of({"angles", 1, 3, true}, Precision::Double)), refused + "angles with 3 real numbers a site");
  EXPECT_EQ(refusal(of({"coarse vectors", 2, 160, true}, Precision::Double)),
            refused + "coarse vectors with 320 real numbers a site");
  EXPECT_EQ(refusal(of({"phases", 1, 2, false}, Precision::Half)), refused + "phases without norms in half precision");
  EXPECT_EQ(refusal(of({"phases", 1, 2, false}, Precision::Double)), "");
  Field large(of({"coarse vectors", 2, 160, true}, Precision::Double));
  EXPECT_THROW(fill_gaussian(large, 1), Error);
  EXPECT_THROW(convert(large, large), Error);
}

}  // namespace
}  // namespace quadrille
