// The fused passes of the solvers on random fields, pass by pass, beside their formulas in double.
#include "solvers/steps.h"

#include "core/blas/blas.h"
#include "tests/core/blas_testing.h"
#include "tests/testing/backend_under_test.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace quadrille {
namespace {

using namespace testing::algebra;
using steps::BicgstabScalars;
using steps::CgScalars;

class Steps : public Blas {};

/// A step of MR: alpha = omega <t, r> / |t|^2 moves r and y; a t that vanishes leaves both alone.
TEST_F(Steps, MrPasses) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    blas::caxpy({0.5, 1}, f[0], f[1]);
    const Array t = values(f[0]), r = values(f[1]), y = values(f[2]);
    blas::ResidentScalars<steps::MrScalars> held(testing::backend(), f[0].desc().lattice->communicator());
    held.set({.omega = 0.8});
    steps::run(steps::MrAlpha{}, {&f[0], &f[1]}, held);
    steps::run(steps::MrUpdate{}, {&f[0], &f[1], &f[2]}, held);
    const Complex alpha = 0.8 * dot(t, r) / norm2(t);
    expect_field(f[1], combine(1, r, -alpha, t), 10 * tolerance);
    expect_field(f[2], combine(1, y, alpha, r), 10 * tolerance);
    const Array r_new = values(f[1]), y_new = values(f[2]);
    steps::run(steps::MrAlpha{}, {&f[0], &f[1]}, held);
    steps::run(steps::MrUpdateNorm2{}, {&f[0], &f[1], &f[2]}, held);
    held.record();
    const Complex next = 0.8 * dot(t, r_new) / norm2(t);
    expect_field(f[1], combine(1, r_new, -next, t), 10 * tolerance);
    expect_field(f[2], combine(1, y_new, next, r_new), 10 * tolerance);
    EXPECT_NEAR(held.snapshot().r2 / norm2(values(f[1])), 1, 20 * tolerance + 1e-10);
    const Array left[2] = {values(f[1]), values(f[2])};
    blas::zero(f[0]);
    steps::run(steps::MrAlpha{}, {&f[0], &f[1]}, held);
    steps::run(steps::MrUpdate{}, {&f[0], &f[1], &f[2]}, held);
    expect_field(f[1], left[0], tolerance);
    expect_field(f[2], left[1], tolerance);
  });
}

/// An iteration of CG on random fields, pass by pass, beside its formulas.
TEST_F(Steps, CgPasses) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    const double sums = 20 * tolerance + 1e-10;
    const Array p = values(f[0]), q = values(f[1]), r = values(f[2]), y = values(f[3]), z = values(f[4]);
    blas::ResidentScalars<CgScalars> held(testing::backend(), f[0].desc().lattice->communicator());
    held.set({.z2 = 0.7 * norm2(q), .r2 = norm2(r), .largest_ratio = 1e-3});
    steps::run(steps::CgAlpha{}, {&f[1]}, held);
    steps::run(steps::CgResidual{}, {&f[1], &f[2]}, held);
    held.record();
    const CgScalars half_way = held.snapshot();
    EXPECT_EQ(half_way.ended, CgScalars::Ended::no);
    EXPECT_NEAR(half_way.alpha, 0.7, sums);
    const Array r_new = combine(1, r, -half_way.alpha, q);
    expect_field(f[2], r_new, 2 * tolerance);
    EXPECT_NEAR(half_way.r2 / norm2(r_new), 1, sums);
    steps::run(steps::CgBeta{}, {&f[4]}, held);
    steps::run(steps::CgUpdate{}, {&f[0], &f[3], &f[4]}, held);
    const double beta = norm2(z) / (0.7 * norm2(q));
    expect_field(f[3], combine(1, y, 0.7, p), 5 * tolerance);
    expect_field(f[0], combine(1, z, beta, p), 5 * tolerance);

    steps::run(steps::CgAlpha{}, {&f[1]}, held);  // the next iteration: with |z|^2
    steps::run(steps::CgResidual{}, {&f[1], &f[2]}, held);
    held.record();
    const CgScalars next = held.snapshot();
    EXPECT_NEAR(next.alpha / (norm2(z) / norm2(q)), 1, sums);
    EXPECT_NEAR(next.beta / beta, 1, sums);
    EXPECT_NEAR(next.largest_ratio / (norm2(z) / half_way.r2), 1, sums);
  });
}

/// Nothing more is done without an alpha; without a gradient y still takes its step, and nothing comes after that.
TEST_F(Steps, CgPassesThatEnd) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    blas::ResidentScalars<CgScalars> held(testing::backend(), f[0].desc().lattice->communicator());
    const auto pass = [&](const Field& q, const CgScalars& start, CgScalars::Ended expected) {
      held.set(start);
      steps::run(steps::CgAlpha{}, {&q}, held);
      steps::run(steps::CgResidual{}, {&q, &f[2]}, held);
      steps::run(steps::CgBeta{}, {&f[4]}, held);
      steps::run(steps::CgUpdate{}, {&f[0], &f[3], &f[4]}, held);
      const std::array<Array, 3> left{values(f[0]), values(f[2]), values(f[3])};
      steps::run(steps::CgAlpha{}, {&q}, held);
      steps::run(steps::CgResidual{}, {&q, &f[2]}, held);
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
    steps::run(steps::BicgstabAlpha{}, {&f_[2], &r0}, held_);
    steps::run(steps::BicgstabHalfStep{}, {&f_[2], &f_[4]}, held_);
    const Array rounded_s = values(f_[4]);  // in half precision the fields of the next pass are rounded
    const Complex ts = dot(t, rounded_s);
    const Complex omega = ts / norm2(t);
    const Array r_new = combine(1, rounded_s, -omega, t);
    steps::run(steps::BicgstabOmega{ask_below_part * std::sqrt(norm2(r_new))}, {&f_[1], &f_[4], &r0}, held_);
    steps::run(steps::BicgstabUpdate{}, {&f_[0], &f_[1], &f_[2], &f_[3], &f_[4]}, held_);
    held_.record();
    const BicgstabScalars now = held_.snapshot();

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
    EXPECT_EQ(now.ended, asks ? BicgstabScalars::Ended::asks : BicgstabScalars::Ended::no);
    EXPECT_EQ(number(now.rho), asks ? rho : number(now.next_rho));
    const Array q = combine(1, p, -omega, v);
    expect_field(f_[0], asks ? q : combine(1, r_new, beta, q));
  }

  /// Once it has ended nothing is done.
  void run_ended(const BicgstabScalars& start, BicgstabScalars::Ended expected) {
    std::vector<Array> before;
    for (const Field& field : f_) before.push_back(values(field));
    held_.set(start);
    steps::run(steps::BicgstabAlpha{}, {&f_[2], &f_[0]}, held_);
    if (expected != BicgstabScalars::Ended::no_alpha) {
      steps::run(steps::BicgstabHalfStep{}, {&f_[2], &f_[4]}, held_);
      before[4] = values(f_[4]);
    }
    steps::run(steps::BicgstabHalfStep{}, {&f_[2], &f_[expected == BicgstabScalars::Ended::no_alpha ? 4 : 0]}, held_);
    steps::run(steps::BicgstabOmega{0}, {&f_[1], &f_[4], &f_[0]}, held_);
    steps::run(steps::BicgstabUpdate{}, {&f_[0], &f_[1], &f_[2], &f_[3], &f_[4]}, held_);
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
  blas::ResidentScalars<BicgstabScalars> held_;
};

/// Fields that are close enough to parallel for inner products to keep their digits in half precision.
void align(std::vector<Field>& f) {
  for (std::size_t i = 1; i < f.size(); ++i) blas::caxpy({1, 0.3 * double(i)}, f[0], f[i]);
}

TEST_F(Steps, BicgstabPasses) {
  for_all([&](std::vector<Field>& f, double tolerance) {
    align(f);
    BicgstabPasses(f, tolerance).run(0.9);
    BicgstabPasses(f, tolerance).run(1.1);
  });
}

TEST_F(Steps, BicgstabDoesNothingOnceItHasEnded) {
  using Ended = BicgstabScalars::Ended;
  for_all([&](std::vector<Field>& f, double tolerance) {
    align(f);
    BicgstabPasses passes(f, tolerance);
    passes.run_ended({.rho = {1, 0}, .r2 = 1, .r0_norm2 = 1, .vanishing = 1e300}, Ended::no_alpha);
    passes.run_ended({.rho = {1, 0}, .r2 = 1, .r0_norm2 = 1, .target = 1e300}, Ended::half_way);
  });
}

}  // namespace
}  // namespace quadrille
