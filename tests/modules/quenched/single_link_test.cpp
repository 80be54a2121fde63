// One SU(3) link in fixed surroundings A: weight exp(s Re tr(U A)), sampled by the updates and compared with integrals.
#define QUADRILLE_ISA unit_test
#include "modules/quenched/updates/link_update.h"

#include "core/random/random.h"
#include "core/su3/su3.h"
#include "core/su3/su3_project.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace quadrille::quenched {
namespace {

template <class T>
constexpr int lanes = 16 / int(sizeof(T));

/// Updates in double and in float are held to the same integrals.
template <class T>
class SingleLink : public ::testing::Test {};
using Numbers = ::testing::Types<double, float>;
TYPED_TEST_SUITE(SingleLink, Numbers);

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

/// The same matrix in all lanes.
template <class T>
void broadcast(Real<T, lanes<T>>* to, const Matrix3& a) {
  for (std::size_t i = 0; i < 9; ++i) {
    to[2 * i] = Real<T, lanes<T>>{} + T(a[i].real());
    to[2 * i + 1] = Real<T, lanes<T>>{} + T(a[i].imag());
  }
}

template <class T>
void number(std::int64_t* sites, std::int64_t group) {
  for (int lane = 0; lane < lanes<T>; ++lane) sites[lane] = lanes<T> * group + lane;
}

template <class T>
Sampled sample(const Matrix3& a, double s, int overrelaxations, std::uint64_t seed) {
  constexpr int V = lanes<T>, groups = 12000 / V, warm = 15, measured = 15;
  Real<T, V> staples[18];
  broadcast<T>(staples, a);
  double sums[3] = {}, squares[3] = {};
  DrawCounts<T, V> counts;
  for (int group = 0; group < groups; ++group) {
    std::int64_t sites[V];
    number<T>(sites, group);
    Real<T, V> u[18];
    double mean[3][V] = {};
    broadcast<T>(u, Matrix3::identity());
    for (int n = 0; n < warm + measured; ++n) {
      const Heatbath<T, V> heatbath{T(s), step_seed(seed, RandomPurpose::Sweep, std::uint64_t(n)),
                                    random_stream(RandomPurpose::Heatbath, 0), &counts};
      update_link<T, V>(u, staples, heatbath, sites);
      for (int o = 0; o < overrelaxations; ++o) update_link<T, V>(u, staples, Overrelaxation<T, V>{}, sites);
      if (n < warm) continue;
      Real<T, V> w[18];
      multiply<T, V>(w, u, staples);
      for (int lane = 0; lane < V; ++lane) {
        const double re = w[0][lane] + w[8][lane] + w[16][lane], im = w[1][lane] + w[9][lane] + w[17][lane];
        mean[0][lane] += re / measured;
        mean[1][lane] += im / measured;
        mean[2][lane] += re * re / measured;
      }
    }
    for (int k = 0; k < 3; ++k) {
      for (int lane = 0; lane < V; ++lane) {
        sums[k] += mean[k][lane];
        squares[k] += mean[k][lane] * mean[k][lane];
      }
    }
  }
  constexpr double n = V * groups;
  const auto error = [&](int k) { return std::sqrt((squares[k] / n - sums[k] / n * sums[k] / n) / n); };
  return {sums[0] / n, sums[1] / n, sums[2] / n, error(0), error(1), error(2)};
}

template <class T>
void expect_exact(const Matrix3& a, double s, const Exact& exact) {
  for (int overrelaxations : {0, 3}) {
    const Sampled found = sample<T>(a, s, overrelaxations, testing::next_seed());
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

TYPED_TEST(SingleLink, UnitSurroundings) {
  for (double s : {0.3, 2.0, 7.0}) {
    expect_exact<TypeParam>(Matrix3::identity(), s,
                            from_partition_function([](double t, double e) { return log_z_unit(t, e); }, s));
  }
}

TEST(SingleLinkIntegrals, TheTwoIntegralsAgreeNearUnitSurroundings) {
  const Invariants near{{1.002, 1.0, 0.998}, 0};
  for (double s : {0.5, 2.0, 7.0}) {
    const double general = (log_z_general(near, 1.01 * s, 0) - log_z_general(near, 0.99 * s, 0)) / (0.02 * s);
    const double unit = (log_z_unit(1.01 * s, 0) - log_z_unit(0.99 * s, 0)) / (0.02 * s);
    EXPECT_NEAR(general, unit, 2e-4 * unit) << s;
  }
}

TYPED_TEST(SingleLink, GeneralSurroundings) {
  for (double s : {0.2, 1.0, 2.5}) {
    const Matrix3 a = random_matrix(testing::next_seed());
    const Invariants of = invariants(a);
    expect_exact<TypeParam>(a, s,
                            from_partition_function([&](double t, double e) { return log_z_general(of, t, e); }, s));
  }
}

TYPED_TEST(SingleLink, OverrelaxationKeepsTheWeightAndIsItsOwnInversePerSubgroup) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const double rounding = sizeof(T) == 8 ? 1e-13 : 2e-5;
  Real<T, V> staples[18], u[18], w[18];
  broadcast<T>(staples, random_matrix(testing::next_seed()));
  broadcast<T>(u, Matrix3::identity());
  const auto weight = [&] {
    multiply<T, V>(w, u, staples);
    return double((w[0] + w[8] + w[16])[0]);
  };
  const double before = weight();
  update_link<T, V>(u, staples, Overrelaxation<T, V>{}, nullptr);
  EXPECT_NEAR(weight(), before, rounding * std::abs(before) + rounding);
  EXPECT_GT(std::abs(u[0][0] - 1), 1e-6);
  for (int subgroup = 0; subgroup < 3; ++subgroup) {
    const int i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
    Real<T, V> kept[18];
    for (int n = 0; n < 18; ++n) kept[n] = u[n];
    for (int twice = 0; twice < 2; ++twice) {
      multiply<T, V>(w, u, staples);
      rotate_rows<T, V>(u, Overrelaxation<T, V>{}(subgroup_part<T, V>(w, i, j), subgroup, nullptr), i, j);
    }
    for (int n = 0; n < 18; ++n) EXPECT_NEAR(u[n][0], kept[n][0], rounding);
  }
}

TYPED_TEST(SingleLink, SurroundingsThatVanishGiveHaarMeasure) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  for (int overrelaxations : {0, 1}) {
    // tr U itself: mean 0, and E |tr U|^2 = 1.
    DrawCounts<T, V> counts;
    Real<T, V> staples[18] = {};
    double re = 0, norm = 0;
    constexpr int n = 20000;
    const std::uint64_t seed = testing::next_seed();
    for (int group = 0; group < n / V; ++group) {
      std::int64_t sites[V];
      number<T>(sites, group);
      Real<T, V> u[18];
      broadcast<T>(u, Matrix3::identity());
      for (std::uint64_t k = 0; k < 8; ++k) {
        update_link<T, V>(u, staples,
                          Heatbath<T, V>{T(1), step_seed(seed, RandomPurpose::Sweep, k),
                                         random_stream(RandomPurpose::Heatbath, 0), &counts},
                          sites);
        for (int o = 0; o < overrelaxations; ++o) update_link<T, V>(u, staples, Overrelaxation<T, V>{}, sites);
      }
      for (int lane = 0; lane < V; ++lane) {
        const double x = u[0][lane] + u[8][lane] + u[16][lane], y = u[1][lane] + u[9][lane] + u[17][lane];
        re += x;
        norm += x * x + y * y;
      }
    }
    EXPECT_NEAR(re / n, 0, 6 * std::sqrt(0.5 / n));
    EXPECT_NEAR(norm / n, 1, 6 * std::sqrt(1.0 / n));  // E |tr U|^4 = 2
  }
}

template <class T>
Matrix3 lane_of(const Real<T, lanes<T>>* u, int lane) {
  Matrix3 m;
  for (std::size_t i = 0; i < 9; ++i) m[i] = {u[2 * i][lane], u[2 * i + 1][lane]};
  return m;
}

TYPED_TEST(SingleLink, ReunitarizationKeepsSu3AndMendsTheRest) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const double epsilon = std::numeric_limits<T>::epsilon();
  const Matrix3 noise = random_matrix(testing::next_seed());
  Real<T, V> u[18], largest{};
  broadcast<T>(u, Matrix3::identity());
  reunitarize_link<T, V>(u, largest);
  EXPECT_EQ(largest[0], 0);
  for (std::size_t i = 0; i < 9; ++i) {
    u[2 * i] += T(1e-3 * noise[i].real());
    u[2 * i + 1] += T(1e-3 * noise[i].imag());
  }
  reunitarize_link<T, V>(u, largest);
  EXPECT_GT(largest[0], 1e-4);
  EXPECT_LT(largest[0], 2e-2);
  EXPECT_LT(unitarity_defect(lane_of<T>(u, 1)), 14 * epsilon);
  EXPECT_LT(std::abs(determinant(lane_of<T>(u, 1)) - 1.0), 14 * epsilon);
}

TYPED_TEST(SingleLink, TheThirdRowIsThatOfTheFirstTwo) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const double epsilon = std::numeric_limits<T>::epsilon();
  Matrix3 m = random_matrix(testing::next_seed());
  ASSERT_TRUE(project_su3(m));
  Real<T, V> u[18], third[6], unit[18];
  broadcast<T>(u, m);
  const MatrixRows<T, V> whole = whole_link<T, V, 12>(u, third);
  for (int n = 0; n < 18; ++n) unit[n] = u[n];
  for (int n = 12; n < 18; ++n) unit[n] = Real<T, V>{} + T(7);
  add_unit_third_row<T, V>(unit);
  for (int n = 0; n < 6; ++n) {
    EXPECT_NEAR(whole.row(2)[n][0], u[12 + n][0], 4 * epsilon);
    EXPECT_NEAR(unit[12 + n][0], u[12 + n][0], 4 * epsilon);
  }
  EXPECT_EQ(whole.row(1), u + 6);
  EXPECT_EQ((whole_link<T, V, 18>(u, third).row(2)), u + 12);
}

/// The distance from SU(3) after 200 updates of a link of which two rows are kept, with complete(u) to make the third.
template <class T, class Complete>
double drift(const Complete& complete) {
  constexpr int V = lanes<T>;
  DrawCounts<T, V> counts;
  Real<T, V> staples[18], u[18];
  std::int64_t sites[V];
  number<T>(sites, 5);
  broadcast<T>(staples, random_matrix(testing::next_seed()));
  broadcast<T>(u, Matrix3::identity());
  for (int n = 0; n < 200; ++n) {
    const Heatbath<T, V> heatbath{T(1), testing::next_seed(), random_stream(RandomPurpose::Heatbath, 0), &counts};
    complete(u);
    update_link<T, V>(u, staples, heatbath, sites);
  }
  complete(u);
  double largest = 0;
  for (int lane = 0; lane < V; ++lane) {
    const double defect = unitarity_defect(lane_of<T>(u, lane));
    if (!(defect <= largest)) largest = defect;  // also when it is not a number
  }
  return largest;
}

TYPED_TEST(SingleLink, WithAThirdRowOfLength1ErrorsAddUp) {
  using T = TypeParam;
  constexpr int V = lanes<T>;
  const double epsilon = std::numeric_limits<T>::epsilon();
  EXPECT_LT(drift<T>([](Real<T, V>*) {}), 200 * epsilon);
  EXPECT_LT(drift<T>([](Real<T, V>* u) { add_unit_third_row<T, V>(u); }), 200 * epsilon);
  // Of the length that the others give it they grow with every update, past all bounds.
  EXPECT_FALSE(drift<T>([](Real<T, V>* u) { third_row<T, V>(u + 12, u); }) < 0.1);
}

}  // namespace
}  // namespace quadrille::quenched
