// One SU(3) link in fixed surroundings A: weight exp(s Re tr(U A)), sampled by the updates and compared with integrals.
#define QUADRILLE_ISA unit_test
#include "modules/quenched/link_update.h"

#include "core/gauge/su3.h"
#include "core/random.h"
#include "tests/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

namespace quadrille::quenched {
namespace {

constexpr int lanes = 2;

/// Exact averages: of Re tr(U A), of Im tr(U A), and the variance of the former.
struct Exact {
  double re, im, variance;
};

/// By derivatives of log Z(s, epsilon), where A is multiplied by exp(i epsilon).
Exact from_partition_function(const std::function<double(double, double)>& log_z, double s) {
  const double h = 1e-3 * s, e = 1e-3;
  const double middle = log_z(s, 0), up = log_z(s + h, 0), down = log_z(s - h, 0);
  return {(up - down) / (2 * h), -(log_z(s, e) - log_z(s, -e)) / (2 * e * s), (up - 2 * middle + down) / (h * h)};
}

/// Weyl's integration formula for A = 1: eigenvalues exp(i theta_k) of U with theta_1 + theta_2 + theta_3 = 0.
double log_z_unit(double s, double epsilon) {
  constexpr int n = 96;  // the trapezoidal rule on a periodic, smooth integrand
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      const double t[3] = {2 * std::numbers::pi * i / n, 2 * std::numbers::pi * j / n,
                           -2 * std::numbers::pi * (i + j) / n};
      double measure = 1, exponent = 0;
      for (int a = 0; a < 3; ++a) {
        for (int b = 0; b < a; ++b) measure *= 2 - 2 * std::cos(t[a] - t[b]);
        exponent += std::cos(t[a] + epsilon);
      }
      sum += measure * std::exp(s * exponent);
    }
  }
  return std::log(sum / (n * n));
}

/// The singular values of A by Jacobi rotations of A^+ A's columns, and the phase of its determinant.
struct Invariants {
  double singular[3];
  double phase;
};
Invariants invariants(Matrix3 a) {
  Invariants out{{}, std::arg(determinant(a))};
  for (int turn = 0; turn < 60; ++turn) {
    const int p = turn % 3 == 2 ? 1 : 0, q = turn % 3 == 0 ? 1 : 2;
    Complex overlap = 0;
    double pp = 0, qq = 0;
    for (int i = 0; i < 3; ++i) {
      overlap += std::conj(a(i, p)) * a(i, q);
      pp += std::norm(a(i, p));
      qq += std::norm(a(i, q));
    }
    if (std::abs(overlap) < 1e-300) continue;
    const double angle = 0.5 * std::atan2(2 * std::abs(overlap), pp - qq);
    const Complex phase = overlap / std::abs(overlap);
    for (int i = 0; i < 3; ++i) {
      const Complex x = a(i, p), y = a(i, q) * std::conj(phase);
      a(i, p) = std::cos(angle) * x + std::sin(angle) * y;
      a(i, q) = -std::sin(angle) * x + std::cos(angle) * y;
    }
  }
  for (int j = 0; j < 3; ++j) {
    out.singular[j] = std::sqrt(std::norm(a(0, j)) + std::norm(a(1, j)) + std::norm(a(2, j)));
  }
  return out;
}

/// The SU(3) integral as a sum over U(3) integrals with det(U)^nu, each a determinant of Bessel functions of the
/// singular values mu_i of s A (Leutwyler and Smilga, Phys. Rev. D 46 (1992) 5607; Jackson, Sener and Verbaarschot,
/// Phys. Lett. B 387 (1996) 355, hep-th/9605183): Z = sum_nu exp(i nu phi) det[mu_i^(j-1) I_(nu+j-1)(mu_i)] /
/// prod_{i<j} (mu_i^2 - mu_j^2), up to a constant.
double log_z_general(const Invariants& a, double s, double epsilon) {
  double mu[3], sum = 0;
  for (int i = 0; i < 3; ++i) mu[i] = s * a.singular[i];
  for (int nu = 0; nu < 60; ++nu) {
    double m[3][3];
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) m[i][j] = std::pow(mu[i], j) * std::cyl_bessel_i(double(nu + j), mu[i]);
    }
    const double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                       m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                       m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    sum += (nu == 0 ? 1 : 2) * std::cos(nu * (a.phase + 3 * epsilon)) * det;
  }
  const double x = mu[0] * mu[0], y = mu[1] * mu[1], z = mu[2] * mu[2];
  return std::log(std::abs(sum / ((x - y) * (y - z) * (z - x))));
}

/// Averages over chains, and their standard errors from the spread of the chains.
struct Sampled {
  double re, im, re2, re_error, im_error, re2_error;
};

Sampled sample(const Matrix3& a, double s, int overrelaxations, std::uint64_t seed) {
  constexpr int pairs = 6000, warm = 15, measured = 15;
  Real<lanes> staples[18];
  for (std::size_t i = 0; i < 9; ++i) {
    staples[2 * i] = Real<lanes>{} + a[i].real();
    staples[2 * i + 1] = Real<lanes>{} + a[i].imag();
  }
  double sums[3] = {}, squares[3] = {};
  DrawCounts<lanes> counts;
  for (int pair = 0; pair < pairs; ++pair) {
    alignas(16) const std::int64_t sites[lanes] = {2 * pair, 2 * pair + 1};
    Real<lanes> u[18] = {}, mean[3] = {};
    u[0] += 1.0;
    u[8] += 1.0;
    u[16] += 1.0;
    for (int n = 0; n < warm + measured; ++n) {
      const Heatbath<lanes> heatbath{s, step_seed(seed, RandomPurpose::Sweep, std::uint64_t(n)),
                                     random_stream(RandomPurpose::Heatbath, 0), &counts};
      update_link<lanes>(u, staples, heatbath, sites);
      for (int o = 0; o < overrelaxations; ++o) update_link<lanes>(u, staples, Overrelaxation<lanes>{}, sites);
      if (n < warm) continue;
      Real<lanes> w[18];
      multiply<lanes>(w, u, staples);
      const Real<lanes> re = w[0] + w[8] + w[16], im = w[1] + w[9] + w[17];
      mean[0] += re / measured;
      mean[1] += im / measured;
      mean[2] += re * re / measured;
    }
    for (int k = 0; k < 3; ++k) {
      for (int lane = 0; lane < lanes; ++lane) {
        sums[k] += mean[k][lane];
        squares[k] += mean[k][lane] * mean[k][lane];
      }
    }
  }
  constexpr double n = lanes * pairs;
  const auto error = [&](int k) { return std::sqrt((squares[k] / n - sums[k] / n * sums[k] / n) / n); };
  return {sums[0] / n, sums[1] / n, sums[2] / n, error(0), error(1), error(2)};
}

void expect_exact(const Matrix3& a, double s, const Exact& exact) {
  for (int overrelaxations : {0, 3}) {
    const Sampled found = sample(a, s, overrelaxations, testing::next_seed());
    const auto where = [&] { return ::testing::Message() << "s " << s << ", overrelaxations " << overrelaxations; };
    EXPECT_NEAR(found.re, exact.re, 6 * found.re_error) << where();
    EXPECT_NEAR(found.im, exact.im, 6 * found.im_error + 1e-12) << where();
    EXPECT_NEAR(found.re2, exact.variance + exact.re * exact.re, 6 * found.re2_error) << where();
    EXPECT_LT(found.re_error, 0.01 * std::abs(exact.re) + 0.01) << "too few to say anything";
  }
}

Matrix3 random_matrix(std::uint64_t seed) {
  SiteRandom random(seed, RandomPurpose::Test, 0);
  Matrix3 a;
  for (Complex& x : a.e) {
    const double re = random.normal(), im = random.normal();
    x = {re, im};
  }
  return a;
}

TEST(SingleLink, UnitSurroundings) {
  for (double s : {0.3, 2.0, 7.0}) {
    expect_exact(Matrix3::identity(), s,
                 from_partition_function([](double t, double e) { return log_z_unit(t, e); }, s));
  }
}

TEST(SingleLink, TheTwoIntegralsAgreeNearUnitSurroundings) {
  const Invariants near{{1.002, 1.0, 0.998}, 0};
  for (double s : {0.5, 2.0, 7.0}) {
    const double general = (log_z_general(near, 1.01 * s, 0) - log_z_general(near, 0.99 * s, 0)) / (0.02 * s);
    const double unit = (log_z_unit(1.01 * s, 0) - log_z_unit(0.99 * s, 0)) / (0.02 * s);
    EXPECT_NEAR(general, unit, 2e-4 * unit) << s;
  }
}

TEST(SingleLink, GeneralSurroundings) {
  for (double s : {0.2, 1.0, 2.5}) {
    const Matrix3 a = random_matrix(testing::next_seed());
    const Invariants of = invariants(a);
    expect_exact(a, s, from_partition_function([&](double t, double e) { return log_z_general(of, t, e); }, s));
  }
}

TEST(SingleLink, OverrelaxationKeepsTheWeightAndIsItsOwnInversePerSubgroup) {
  const Matrix3 a = random_matrix(testing::next_seed());
  Real<lanes> staples[18], u[18] = {}, w[18];
  for (std::size_t i = 0; i < 9; ++i) {
    staples[2 * i] = Real<lanes>{} + a[i].real();
    staples[2 * i + 1] = Real<lanes>{} + a[i].imag();
  }
  u[0] += 1.0;
  u[8] += 1.0;
  u[16] += 1.0;
  const auto weight = [&] {
    multiply<lanes>(w, u, staples);
    return (w[0] + w[8] + w[16])[0];
  };
  const double before = weight();
  update_link<lanes>(u, staples, Overrelaxation<lanes>{}, nullptr);
  EXPECT_NEAR(weight(), before, 1e-13 * std::abs(before) + 1e-13);
  EXPECT_GT(std::abs(u[0][0] - 1), 1e-6);
  for (int subgroup = 0; subgroup < 3; ++subgroup) {
    const int i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
    Real<lanes> kept[18];
    for (int n = 0; n < 18; ++n) kept[n] = u[n];
    for (int twice = 0; twice < 2; ++twice) {
      multiply<lanes>(w, u, staples);
      rotate_rows<lanes>(u, Overrelaxation<lanes>{}(subgroup_part<lanes>(w, i, j), subgroup, nullptr), i, j);
    }
    for (int n = 0; n < 18; ++n) EXPECT_NEAR(u[n][0], kept[n][0], 1e-13);
  }
}

TEST(SingleLink, SurroundingsThatVanishGiveHaarMeasure) {
  for (int overrelaxations : {0, 1}) {
    // tr U itself: mean 0, and E |tr U|^2 = 1.
    DrawCounts<lanes> counts;
    Real<lanes> staples[18] = {};
    double re = 0, norm = 0;
    constexpr int n = 20000;
    const std::uint64_t seed = testing::next_seed();
    for (int pair = 0; pair < n / 2; ++pair) {
      alignas(16) const std::int64_t sites[lanes] = {2 * pair, 2 * pair + 1};
      Real<lanes> u[18] = {};
      u[0] += 1.0;
      u[8] += 1.0;
      u[16] += 1.0;
      for (std::uint64_t k = 0; k < 8; ++k) {
        update_link<lanes>(u, staples,
                           Heatbath<lanes>{1.0, step_seed(seed, RandomPurpose::Sweep, k),
                                           random_stream(RandomPurpose::Heatbath, 0), &counts},
                           sites);
        for (int o = 0; o < overrelaxations; ++o) update_link<lanes>(u, staples, Overrelaxation<lanes>{}, sites);
      }
      const Real<lanes> x = u[0] + u[8] + u[16], y = u[1] + u[9] + u[17];
      re += x[0] + x[1];
      norm += (x * x + y * y)[0] + (x * x + y * y)[1];
    }
    EXPECT_NEAR(re / n, 0, 6 * std::sqrt(0.5 / n));
    EXPECT_NEAR(norm / n, 1, 6 * std::sqrt(1.0 / n));  // E |tr U|^4 = 2
  }
}

TEST(SingleLink, ReunitarizationKeepsSu3AndMendsTheRest) {
  const Matrix3 noise = random_matrix(testing::next_seed());
  Real<lanes> u[18] = {}, largest{};
  u[0] += 1.0;
  u[8] += 1.0;
  u[16] += 1.0;
  reunitarize_link<lanes>(u, largest);
  EXPECT_EQ(largest[0], 0);
  for (std::size_t i = 0; i < 9; ++i) {
    u[2 * i] += 1e-3 * noise[i].real();
    u[2 * i + 1] += 1e-3 * noise[i].imag();
  }
  reunitarize_link<lanes>(u, largest);
  EXPECT_GT(largest[0], 1e-4);
  EXPECT_LT(largest[0], 2e-2);
  Matrix3 m;
  for (std::size_t i = 0; i < 9; ++i) m[i] = {u[2 * i][1], u[2 * i + 1][1]};
  EXPECT_LT(unitarity_defect(m), 3e-15);
  EXPECT_LT(std::abs(determinant(m) - 1.0), 3e-15);
}

}  // namespace
}  // namespace quadrille::quenched
