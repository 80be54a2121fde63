// Every fused operation against naive loops in double, in every precision, width and subset.
#include "core/blas/blas.h"

#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "core/simd/isa.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <functional>
#include <span>
#include <vector>

namespace quadrille {
namespace {

using blas::Complex;
using Array = std::vector<Complex>;

/// The complex numbers of all sites that the field holds, as they stand in it.
Array values(const Field& field) {
  HostImage image(field);
  const Field& x = image.field();
  const std::size_t count = std::size_t(x.desc().components());
  Array out;
  with_number_type(x.desc().precision, [&](auto number) {
    using Access = SiteAccess<decltype(number)>;
    std::vector<typename Access::Real> site(count);
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      if (!x.holds(p)) continue;
      const Access from(x, p);
      for (std::int64_t index = 0; index < x.lattice().half_volume(); ++index) {
        from.load(index, site.data());
        for (std::size_t n = 0; n < count; n += 2) out.emplace_back(double(site[n]), double(site[n + 1]));
      }
    }
  });
  return out;
}

/// What a field may hold a site; on a device what its kernels are compiled for.
std::vector<SiteFormat> vector_formats() {
  std::vector<SiteFormat> formats{site_formats::spinor, site_formats::half_spinor};
  if (testing::backend().host_memory()) formats.push_back({"color vectors", 1, 6, true});
  return formats;
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
  /// Runs `body` on fresh random fields for every precision, format, instruction set, subset and some extents.
  void for_all(const std::function<void(std::vector<Field>& f, double tolerance)>& body) {
    // 16 x 8 x 4 x 8 has two chunks a parity.
    for (const Dims& dims : testing::test_extents) {
      const Lattice lattice(dims);
      for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
        for (Isa isa : available_isas()) {
          for (const SiteFormat& format : vector_formats()) {
            for (Subset subset : {Subset::Even, Subset::Odd, Subset::Full})
              on_fields(lattice, format, subset, p, isa, body);
          }
        }
      }
    }
  }

  static void on_fields(const Lattice& lattice, const SiteFormat& format, Subset subset, Precision p, Isa isa,
                        const std::function<void(std::vector<Field>& f, double tolerance)>& body) {
    FieldDesc desc = FieldDesc::of(format, lattice, subset, p, testing::backend());
    if (!desc.layout.grouped()) desc.layout.lanes = choose_lanes(lattice.dims(), p, isa);
    std::vector<Field> fields;
    for (int i = 0; i < 5; ++i) {
      fields.emplace_back(desc);
      fill_gaussian(fields.back(), testing::next_seed());
    }
    SCOPED_TRACE(to_string(p) + " " + format.name + " " + to_string(isa) + " lanes " +
                 std::to_string(desc.layout.lanes));
    body(fields, p == Precision::Double ? 1e-14 : p == Precision::Single ? 1e-6 : 2e-4);
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
    y = values(f[1]);
    blas::cxpay(f[0], b, f[1]);
    expect_field(f[1], combine(1, x, b, y), tolerance);
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

/// A step of MR: alpha = omega <t, r> / |t|^2 moves r and y; a t that vanishes leaves both alone.
TEST_F(Blas, MrPasses) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    blas::caxpy({0.5, 1}, f[0], f[1]);
    const Array t = values(f[0]), r = values(f[1]), y = values(f[2]);
    blas::ResidentScalars<blas::MrScalars> held(testing::backend(), f[0].desc().lattice->communicator());
    held.set({.omega = 0.8});
    blas::mr_alpha(f[0], f[1], held);
    blas::mr_update(f[0], f[1], f[2], held);
    const Complex alpha = 0.8 * dot(t, r) / norm2(t);
    expect_field(f[1], combine(1, r, -alpha, t), 10 * tolerance);
    expect_field(f[2], combine(1, y, alpha, r), 10 * tolerance);
    const Array left[2] = {values(f[1]), values(f[2])};
    blas::zero(f[0]);
    blas::mr_alpha(f[0], f[1], held);
    blas::mr_update(f[0], f[1], f[2], held);
    expect_field(f[1], left[0], tolerance);
    expect_field(f[2], left[1], tolerance);
  });
}

using blas::CgScalars;

/// An iteration of CG on random fields, pass by pass, beside its formulas.
TEST_F(Blas, CgPasses) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const double sums = 20 * tolerance + 1e-10;
    const Array p = values(f[0]), q = values(f[1]), r = values(f[2]), y = values(f[3]), z = values(f[4]);
    blas::ResidentScalars<CgScalars> held(testing::backend(), f[0].desc().lattice->communicator());
    held.set({.z2 = 0.7 * norm2(q), .r2 = norm2(r), .largest_ratio = 1e-3});
    blas::cg_alpha(f[1], held);
    blas::cg_residual(f[1], f[2], held);
    held.record();
    const CgScalars half_way = held.snapshot();
    EXPECT_EQ(half_way.ended, CgScalars::Ended::no);
    EXPECT_NEAR(half_way.alpha, 0.7, sums);
    const Array r_new = combine(1, r, -half_way.alpha, q);
    expect_field(f[2], r_new, 2 * tolerance);
    EXPECT_NEAR(half_way.r2 / norm2(r_new), 1, sums);
    blas::cg_beta(f[4], held);
    blas::cg_update(f[0], f[3], f[4], held);
    const double beta = norm2(z) / (0.7 * norm2(q));
    expect_field(f[3], combine(1, y, 0.7, p), 5 * tolerance);
    expect_field(f[0], combine(1, z, beta, p), 5 * tolerance);

    blas::cg_alpha(f[1], held);  // the next iteration: with |z|^2
    blas::cg_residual(f[1], f[2], held);
    held.record();
    const CgScalars next = held.snapshot();
    EXPECT_NEAR(next.alpha / (norm2(z) / norm2(q)), 1, sums);
    EXPECT_NEAR(next.beta / beta, 1, sums);
    EXPECT_NEAR(next.largest_ratio / (norm2(z) / half_way.r2), 1, sums);
  });
}

/// Nothing more is done without an alpha; without a gradient y still takes its step, and nothing comes after that.
TEST_F(Blas, CgPassesThatEnd) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    blas::ResidentScalars<CgScalars> held(testing::backend(), f[0].desc().lattice->communicator());
    const auto pass = [&](const Field& q, const CgScalars& start, CgScalars::Ended expected) {
      held.set(start);
      blas::cg_alpha(q, held);
      blas::cg_residual(q, f[2], held);
      blas::cg_beta(f[4], held);
      blas::cg_update(f[0], f[3], f[4], held);
      const std::array<Array, 3> left{values(f[0]), values(f[2]), values(f[3])};
      blas::cg_alpha(q, held);
      blas::cg_residual(q, f[2], held);
      held.record();
      EXPECT_EQ(held.snapshot().ended, expected);
      EXPECT_TRUE(values(f[0]) == left[0] && values(f[2]) == left[1] && values(f[3]) == left[2]);
    };
    Field nothing(f[0].desc());
    blas::zero(nothing);
    const Array p = values(f[0]), r = values(f[2]), y = values(f[3]);
    pass(nothing, {.z2 = 1, .r2 = 1}, CgScalars::Ended::no_alpha);
    EXPECT_TRUE(values(f[0]) == p && values(f[2]) == r && values(f[3]) == y);
    const double z2 = 0.3 * norm2(values(f[1]));
    pass(f[1], {.z2 = z2, .r2 = 1, .singular = 2}, CgScalars::Ended::no_gradient);
    expect_field(f[3], combine(1, y, 0.3, p), 5 * tolerance);
  });
}

Complex number(blas::Coefficient c) { return {c.re, c.im}; }

/// An iteration of BiCGstab on random fields, pass by pass; `ask_below` of |s - omega t|.
class BicgstabPasses {
 public:
  BicgstabPasses(std::vector<Field>& f, double tolerance)
      : f_(f), tolerance_(tolerance), held_(testing::backend(), f[0].desc().lattice->communicator()) {}

  /// p, t, v, y, r = f[0..5), and r0 = p: what it starts from, and what it should give.
  void run(double ask_below_part) {
    const Array p = values(f_[0]), t = values(f_[1]), v = values(f_[2]), y = values(f_[3]), r = values(f_[4]);
    const Complex rho{3.2, -0.9};
    const Complex alpha = rho / dot(p, v);
    const Array s = combine(1, r, -alpha, v);
    Field r0(f_[0].desc());
    blas::copy(r0, f_[0]);
    held_.set({.rho = {rho.real(), rho.imag()}, .r2 = norm2(r), .r0_norm2 = norm2(p)});
    blas::bicgstab_alpha(f_[2], r0, held_);
    blas::bicgstab_half_step(f_[2], f_[4], held_);
    const Array rounded_s = values(f_[4]);  // in half precision the fields of the next pass are rounded
    const Complex ts = dot(t, rounded_s);
    const Complex omega = ts / norm2(t);
    const Array r_new = combine(1, rounded_s, -omega, t);
    blas::bicgstab_omega(f_[1], f_[4], r0, ask_below_part * std::sqrt(norm2(r_new)), held_);
    blas::bicgstab_update(f_[0], f_[1], f_[2], f_[3], f_[4], held_);
    held_.record();
    const blas::BicgstabScalars now = held_.snapshot();

    expect_number(now.alpha, alpha);
    expect_number(now.omega, omega);
    EXPECT_NEAR(now.s2 / norm2(s), 1, (20 * tolerance_ + 1e-10));
    const Complex next_rho = dot(p, r_new), beta = next_rho / rho * (alpha / omega);
    EXPECT_LE(std::abs(number(now.next_rho) - next_rho),
              (20 * tolerance_ + 1e-10) * std::sqrt(norm2(p) * norm2(r_new)));
    EXPECT_NEAR(now.r2 / norm2(r_new), 1, (20 * tolerance_ + 1e-10));
    expect_field(f_[3], combine(1, y, alpha, p, omega, rounded_s));
    expect_field(f_[4], r_new);
    const bool asks = ask_below_part > 1;
    EXPECT_EQ(now.ended, asks ? blas::BicgstabScalars::Ended::asks : blas::BicgstabScalars::Ended::no);
    EXPECT_EQ(number(now.rho), asks ? rho : number(now.next_rho));
    const Array q = combine(1, p, -omega, v);
    expect_field(f_[0], asks ? q : combine(1, r_new, beta, q));
  }

  /// Once it has ended nothing is done.
  void run_ended(const blas::BicgstabScalars& start, blas::BicgstabScalars::Ended expected) {
    std::vector<Array> before;
    for (const Field& field : f_) before.push_back(values(field));
    held_.set(start);
    blas::bicgstab_alpha(f_[2], f_[0], held_);
    if (expected != blas::BicgstabScalars::Ended::no_alpha) {
      blas::bicgstab_half_step(f_[2], f_[4], held_);
      before[4] = values(f_[4]);
    }
    blas::bicgstab_half_step(f_[2], f_[expected == blas::BicgstabScalars::Ended::no_alpha ? 4 : 0], held_);
    blas::bicgstab_omega(f_[1], f_[4], f_[0], 0, held_);
    blas::bicgstab_update(f_[0], f_[1], f_[2], f_[3], f_[4], held_);
    held_.record();
    EXPECT_EQ(held_.snapshot().ended, expected);
    for (std::size_t i = 0; i < f_.size(); ++i) EXPECT_TRUE(values(f_[i]) == before[i]) << "field " << i;
  }

 private:
  void expect_number(blas::Coefficient got, Complex expected) const {
    EXPECT_LE(std::abs(number(got) - expected), (50 * tolerance_ + 1e-10) * std::abs(expected));
  }
  void expect_field(const Field& field, const Array& expected) const {
    const Array got = values(field);
    EXPECT_LE(std::sqrt(norm2(combine(1, got, -1, expected))), (50 * tolerance_ + 1e-10) * std::sqrt(norm2(expected)));
  }

  std::vector<Field>& f_;
  double tolerance_;
  blas::ResidentScalars<blas::BicgstabScalars> held_;
};

/// Fields that are close enough to parallel for inner products to keep their digits in half precision.
void align(std::vector<Field>& f) {
  for (std::size_t i = 1; i < f.size(); ++i) blas::caxpy({1, 0.3 * double(i)}, f[0], f[i]);
}

TEST_F(Blas, BicgstabPasses) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    align(f);
    BicgstabPasses(f, tolerance).run(0.9);
    BicgstabPasses(f, tolerance).run(1.1);
  });
}

TEST_F(Blas, BicgstabDoesNothingOnceItHasEnded) {
  using Ended = blas::BicgstabScalars::Ended;
  for_all([&](std::vector<Field>& f, double tolerance) {
    align(f);
    BicgstabPasses passes(f, tolerance);
    passes.run_ended({.rho = {1, 0}, .r2 = 1, .r0_norm2 = 1, .vanishing = 1e300}, Ended::no_alpha);
    passes.run_ended({.rho = {1, 0}, .r2 = 1, .r0_norm2 = 1, .target = 1e300}, Ended::half_way);
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

TEST(BlasFields, WhatIsNotAVectorIsRefused) {
  const Lattice lattice({4, 4, 2, 2});
  const auto refusal = [&](FieldDesc desc, int nrhs = 1) -> std::string {
    desc.nrhs = nrhs;
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
  EXPECT_EQ(refusal(of(site_formats::spinor, Precision::Double), 2), refused + "2 right-hand sides");
  EXPECT_EQ(refusal(of({"angles", 1, 3, true}, Precision::Double)), refused + "angles with 3 real numbers a site");
  EXPECT_EQ(refusal(of({"coarse vectors", 2, 96, true}, Precision::Double)),
            refused + "coarse vectors with 192 real numbers a site");
  EXPECT_EQ(refusal(of({"phases", 1, 2, false}, Precision::Half)), refused + "phases without norms in half precision");
  const std::string phases = refusal(of({"phases", 1, 2, false}, Precision::Double));
  if (testing::backend().host_memory()) {
    EXPECT_EQ(phases, "");
  } else {
    EXPECT_NE(phases.find("phases of 1 x 2"), std::string::npos) << phases;
  }
}

}  // namespace
}  // namespace quadrille
