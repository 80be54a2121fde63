#include "core/gauge/observables.h"

#include "core/error.h"
#include "core/su3/su3_project.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using quadrille::Complex;
using quadrille::Dims;
using quadrille::GaugeObservables;
using quadrille::HostLinks;
using quadrille::Matrix3;
using quadrille::volume;
using quadrille::testing::fresh_generator;
using ::testing::HasSubstr;

Matrix3 random_matrix(std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  Matrix3 m;
  for (std::size_t i = 0; i < 9; ++i) m[i] = {normal(generator), normal(generator)};
  return m;
}

Matrix3 random_su3(std::mt19937_64& generator) {
  Matrix3 m = random_matrix(generator);
  EXPECT_TRUE(quadrille::project_su3(m));
  return m;
}

HostLinks random_links(const Dims& dims, std::mt19937_64& generator) {
  HostLinks links(dims);
  for (std::size_t n = 0; n < links.data.size() / 9; ++n) random_su3(generator).write(links.data.data() + 9 * n);
  return links;
}

HostLinks unit_links(const Dims& dims) {
  HostLinks links(dims);
  for (std::size_t i = 0; i < links.data.size(); ++i) links.data[i] = i % 9 % 4 == 0 ? 1.0 : 0.0;
  return links;
}

/// The trace of a closed path of steps (0..3 forward, 4..7 backward) from x, link by link.
Complex closed_path(const HostLinks& links, Dims x, std::initializer_list<int> steps) {
  const auto site = [&links](const Dims& at) {
    return ((std::int64_t(at[3]) * links.dims[2] + at[2]) * links.dims[1] + at[1]) * links.dims[0] + at[0];
  };
  Matrix3 total = Matrix3::identity();
  for (const int step : steps) {
    const std::size_t mu = std::size_t(step % 4);
    if (step < 4) total = total * Matrix3::read(links.link(site(x), step));
    x[mu] = (x[mu] + (step < 4 ? 1 : links.dims[mu] - 1)) % links.dims[mu];
    if (step >= 4) total = total * quadrille::adjoint(Matrix3::read(links.link(site(x), step - 4)));
  }
  return total[0] + total[4] + total[8];
}

TEST(Observables, UnitGaugeIsOne) {
  const GaugeObservables found = quadrille::testing::gauge_observables(unit_links({4, 2, 6, 4}));
  EXPECT_EQ(found.plaquette, 1.0);
  for (const double plane : found.planes) EXPECT_EQ(plane, 1.0);
  EXPECT_EQ(found.link_trace, 1.0);
  EXPECT_EQ(found.unitarity.unitarity, 0.0);
  EXPECT_EQ(found.unitarity.determinant, 0.0);
}

TEST(Observables, PlanesAreThePathsAroundThem) {
  auto generator = fresh_generator();
  const Dims dims{2, 4, 6, 8};
  const HostLinks links = random_links(dims, generator);
  const GaugeObservables found = quadrille::testing::gauge_observables(links);
  double all = 0;
  std::size_t plane = 0;
  for (int mu = 0; mu < 4; ++mu) {
    for (int nu = mu + 1; nu < 4; ++nu, ++plane) {
      double sum = 0;
      for (std::int64_t site = 0; site < volume(dims); ++site)
        sum += closed_path(links, quadrille::site_coordinates(dims, site), {mu, nu, mu + 4, nu + 4}).real();
      EXPECT_NEAR(found.planes[plane], sum / 3 / double(volume(dims)), 1e-14);
      EXPECT_EQ(std::string(quadrille::plane_names[plane]), std::string({"xyzt"[mu], "xyzt"[nu]}));
      all += sum / 18 / double(volume(dims));
    }
  }
  EXPECT_NEAR(found.plaquette, all, 1e-14);
}

TEST(Observables, PlaquettesAreGaugeInvariantAndLinkTraceIsNot) {
  auto generator = fresh_generator();
  const Dims dims{4, 6, 2, 4};
  const HostLinks links = random_links(dims, generator);
  HostLinks transformed = links;
  std::vector<Matrix3> g;
  for (std::int64_t site = 0; site < volume(dims); ++site) g.push_back(random_su3(generator));
  for (std::int64_t site = 0; site < volume(dims); ++site) {
    for (int mu = 0; mu < 4; ++mu) {
      Dims x = quadrille::site_coordinates(dims, site);
      x[std::size_t(mu)] = (x[std::size_t(mu)] + 1) % dims[std::size_t(mu)];
      const std::int64_t next = ((std::int64_t(x[3]) * dims[2] + x[2]) * dims[1] + x[1]) * dims[0] + x[0];
      (g[std::size_t(site)] * Matrix3::read(links.link(site, mu)) * adjoint(g[std::size_t(next)]))
          .write(transformed.link(site, mu));
    }
  }
  const GaugeObservables before = quadrille::testing::gauge_observables(links);
  const GaugeObservables after = quadrille::testing::gauge_observables(transformed);
  for (std::size_t plane = 0; plane < 6; ++plane) EXPECT_NEAR(before.planes[plane], after.planes[plane], 1e-14);
  EXPECT_GT(std::abs(before.link_trace - after.link_trace), 1e-6);
}

TEST(Observables, AreTheSameBitsForAnyNumberOfThreads) {
  auto generator = fresh_generator();
  const HostLinks links = random_links({8, 6, 10, 12}, generator);  // 5,760 sites: six chunks, the last not full
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const GaugeObservables one = quadrille::testing::gauge_observables(links);
  for (const int threads : {2, 3, 5}) {
    omp_set_num_threads(threads);
    const GaugeObservables many = quadrille::testing::gauge_observables(links);
    EXPECT_EQ(one.plaquette, many.plaquette);
    EXPECT_EQ(one.planes, many.planes);
    EXPECT_EQ(one.link_trace, many.link_trace);
    EXPECT_EQ(one.unitarity.unitarity, many.unitarity.unitarity);
    EXPECT_EQ(one.unitarity.unitarity_site, many.unitarity.unitarity_site);
    EXPECT_EQ(one.unitarity.unitarity_direction, many.unitarity.unitarity_direction);
  }
  omp_set_num_threads(before);
}

TEST(Observables, UnitarityNamesTheWorstLink) {
  auto generator = fresh_generator();
  const Dims dims{4, 4, 6, 2};
  HostLinks links = random_links(dims, generator);
  const std::int64_t site = 77;
  for (int i = 0; i < 9; ++i) links.link(site, 2)[i] *= 1 + 1e-4;
  const quadrille::Unitarity found = quadrille::testing::unitarity(links);
  EXPECT_NEAR(found.unitarity, 2e-4, 1e-7);
  EXPECT_NEAR(found.determinant, 3e-4, 1e-7);
  EXPECT_EQ(found.unitarity_site, site);
  EXPECT_EQ(found.unitarity_direction, 2);
  EXPECT_EQ(found.determinant_site, site);
  EXPECT_EQ(quadrille::link_name(dims, site, 2), "site (1,3,4,0), direction z");
}

TEST(Observables, AUnitaryMatrixOfAnotherDeterminantIsSeen) {
  HostLinks links = unit_links({2, 2, 2, 2});
  for (int i = 0; i < 9; ++i) links.link(5, 3)[i] *= std::polar(1.0, 1e-3);
  const quadrille::Unitarity found = quadrille::testing::unitarity(links);
  EXPECT_LT(found.unitarity, 1e-15);
  EXPECT_NEAR(found.determinant, 3e-3, 1e-8);
  EXPECT_EQ(found.determinant_site, 5);
  EXPECT_EQ(found.determinant_direction, 3);
}

TEST(Observables, ANotANumberIsTheWorst) {
  HostLinks links = unit_links({2, 2, 2, 4});
  links.link(9, 1)[4] = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 9; ++i) links.link(20, 0)[i] *= 5;
  const quadrille::Unitarity found = quadrille::testing::unitarity(links);
  EXPECT_TRUE(std::isnan(found.unitarity));
  EXPECT_EQ(found.unitarity_site, 9);
  EXPECT_EQ(found.unitarity_direction, 1);
}

TEST(Projection, GivesTheUnitaryFactor) {
  // The nearest SU(3) matrix to H V, with H Hermitian and positive, is V.
  auto generator = fresh_generator();
  for (int trial = 0; trial < 100; ++trial) {
    const Matrix3 v = random_su3(generator), a = random_matrix(generator);
    const Matrix3 h = a * adjoint(a) + Complex(0.1) * Matrix3::identity();
    Matrix3 u = h * v;
    ASSERT_TRUE(quadrille::project_su3(u));
    for (std::size_t i = 0; i < 9; ++i) EXPECT_LT(std::abs(u[i] - v[i]), 1e-11);
    EXPECT_LT(quadrille::unitarity_defect(u), 1e-14);
    EXPECT_LT(std::abs(determinant(u) - 1.0), 1e-14);
  }
}

TEST(Projection, RefusesWhatHasNoNearestMatrix) {
  Matrix3 zero;
  EXPECT_FALSE(quadrille::project_su3(zero));
  Matrix3 broken = Matrix3::identity();
  broken[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(quadrille::project_su3(broken));
}

TEST(Projection, ReunitarizesAFieldInPlace) {
  auto generator = fresh_generator();
  HostLinks links = random_links({4, 2, 2, 6}, generator);
  const HostLinks before = links;
  std::uniform_real_distribution<double> noise(-1e-6, 1e-6);
  for (Complex& number : links.data) number += Complex(noise(generator), noise(generator));
  EXPECT_GT(quadrille::testing::unitarity(links).unitarity, 1e-7);
  const double change = quadrille::testing::reunitarize(links);
  EXPECT_GT(change, 1e-8);
  EXPECT_LT(change, 1e-5);
  EXPECT_LT(quadrille::testing::unitarity(links).unitarity, 1e-14);
  EXPECT_LT(quadrille::testing::unitarity(links).determinant, 1e-14);
  for (std::size_t i = 0; i < links.data.size(); ++i) EXPECT_LT(std::abs(links.data[i] - before.data[i]), 1e-5);
}

TEST(Projection, NamesALinkThatCannotBeMended) {
  HostLinks links = unit_links({2, 2, 4, 2});
  for (int i = 0; i < 9; ++i) links.link(6, 3)[i] = 0;
  try {
    quadrille::testing::reunitarize(links);
    ADD_FAILURE() << "no error";
  } catch (const quadrille::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("site (0,1,1,0), direction t"));
  }
}

}  // namespace
