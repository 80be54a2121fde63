// Every fused operation against naive loops in double, in every precision, width and subset.
#include "core/blas/blas.h"

#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/simd/isa.h"
#include "tests/backend_under_test.h"
#include "tests/extents.h"
#include "tests/random_seed.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <functional>
#include <vector>

namespace quadrille {
namespace {

using blas::Complex;
using Array = std::vector<Complex>;

Array values(const Field& x) {
  HostSpinor host(x.lattice().dims());
  export_spinor(host, x);
  return host.data;
}

// A plain sum in double would itself be wrong by more than the tolerances below.
double norm2(const Array& x) {
  long double sum = 0;
  for (const Complex& c : x) sum += std::norm(c);
  return double(sum);
}

Complex dot(const Array& x, const Array& y) {
  Complex sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::conj(x[i]) * y[i];
  return sum;
}

/// a x + b y + c z, element by element.
Array combine(Complex a, const Array& x, Complex b, const Array& y, Complex c = 0, const Array& z = {}) {
  Array out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = a * x[i] + b * y[i] + (z.empty() ? 0.0 : c * z[i]);
  return out;
}

struct Case {
  Dims dims;
  Precision precision;
  Isa isa;
  Subset subset;
};

class Blas : public ::testing::Test {
 protected:
  /// Runs `body` on fresh random fields for every precision, instruction set, subset and some extents.
  void for_all(const std::function<void(std::vector<Field>& f, double tolerance)>& body) {
    // 16 x 8 x 4 x 8 has two chunks a parity.
    for (const Dims& dims : testing::test_extents) {
      const Lattice lattice(dims);
      for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
        for (Isa isa : available_isas()) {
          for (Subset subset : {Subset::Even, Subset::Odd, Subset::Full}) {
            FieldDesc desc = FieldDesc::spinor(lattice, subset, p, testing::backend());
            if (!desc.layout.grouped()) desc.layout.lanes = choose_lanes(dims, p, isa);
            std::vector<Field> fields;
            for (int i = 0; i < 5; ++i) {
              fields.emplace_back(desc);
              fill_gaussian(fields.back(), testing::next_seed());
            }
            SCOPED_TRACE(to_string(p) + " " + to_string(isa) + " lanes " + std::to_string(desc.layout.lanes));
            body(fields, p == Precision::Double ? 1e-14 : p == Precision::Single ? 1e-6 : 2e-4);
          }
        }
      }
    }
  }

  /// |field - expected| <= tolerance |expected|
  static void expect_field(const Field& field, const Array& expected, double tolerance) {
    const Array got = values(field);
    EXPECT_LE(std::sqrt(norm2(combine(1, got, -1, expected))), tolerance * std::sqrt(norm2(expected)));
  }
  static void expect_sum(Complex got, Complex expected, double scale, double tolerance) {
    EXPECT_LE(std::abs(got - expected), tolerance * scale);
  }

  const Complex a{0.7, -1.3}, b{-0.4, 0.25}, w{1.1, 0.6};
};

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
    const Array p = values(f[2]), z = values(f[3]), s = values(f[4]);
    blas::axpy_xpay(0.6, f[2], f[3], f[4], -1.7);
    expect_field(f[3], combine(1, z, 0.6, p), tolerance);
    expect_field(f[2], combine(1, s, -1.7, p), tolerance);
  });
}

TEST_F(Blas, Reductions) {
  for_all([&](std::vector<Field>& f, double) {
    const Array x = values(f[0]), y = values(f[1]);
    const double scale = std::sqrt(norm2(x) * norm2(y));
    EXPECT_NEAR(blas::norm2(f[0]) / norm2(x), 1, 1e-6);
    expect_sum(blas::dot(f[0], f[1]), dot(x, y), scale, 1e-6);
    const blas::DotNorm both = blas::dot_norm2(f[0], f[1]);
    expect_sum(both.dot, dot(x, y), scale, 1e-6);
    EXPECT_NEAR(both.norm2 / norm2(x), 1, 1e-6);
  });
}

TEST_F(Blas, UpdatesWithSums) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const Array x = values(f[0]);
    Array y = values(f[1]);
    double sum = blas::axpy_norm2(0.9, f[0], f[1]);
    expect_field(f[1], combine(0.9, x, 1, y), tolerance);
    EXPECT_NEAR(sum / norm2(combine(0.9, x, 1, y)), 1, 10 * tolerance);
    y = values(f[2]);
    sum = blas::caxpy_norm2(a, f[0], f[2]);
    expect_field(f[2], combine(a, x, 1, y), tolerance);
    EXPECT_NEAR(sum / norm2(combine(a, x, 1, y)), 1, 10 * tolerance);
    y = values(f[3]);
    sum = blas::subtract_norm2(f[0], f[3]);
    expect_field(f[3], combine(1, x, -1, y), tolerance);
    EXPECT_NEAR(sum / norm2(combine(1, x, -1, y)), 1, 10 * tolerance);
  });
}

TEST_F(Blas, BicgstabSteps) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const Array r = values(f[0]), v = values(f[1]);
    Array p = values(f[2]);
    blas::bicgstab_direction(f[0], f[1], b, w, f[2]);
    p = combine(1, r, b, combine(1, p, -w, v));
    expect_field(f[2], p, tolerance);
    p = values(f[2]);
    const Array t = values(f[1]), r0 = values(f[4]), x = values(f[3]);
    const blas::DotNorm sums = blas::bicgstab_update(a, f[2], w, f[1], f[4], f[3], f[0]);
    const Array r_new = combine(1, r, -w, t);
    expect_field(f[3], combine(1, x, a, p, w, r), tolerance);
    expect_field(f[0], r_new, tolerance);
    expect_sum(sums.dot, dot(r0, r_new), std::sqrt(norm2(r0) * norm2(r_new)), 10 * tolerance);
    EXPECT_NEAR(sums.norm2 / norm2(r_new), 1, 10 * tolerance);
  });
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

TEST(BlasFields, LinksAndSeveralRightHandSidesAreRefused) {
  const Lattice lattice({4, 4, 2, 2});
  Field links(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, testing::backend()));
  EXPECT_THROW((void)blas::norm2(links), Error);
  EXPECT_THROW(blas::zero(links), Error);
  FieldDesc two = FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend());
  two.nrhs = 2;
  Field spinors(two);
  EXPECT_THROW(blas::zero(spinors), Error);
  EXPECT_THROW((void)blas::dot(spinors, spinors), Error);
}

}  // namespace
}  // namespace quadrille
