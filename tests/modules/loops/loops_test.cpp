// Loops of links against products along their paths, and what holds without those.
#include "modules/loops/loops.h"

#include "core/simd/isa.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/modules/flow/naive_flow.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <numbers>

namespace quadrille::loops {
namespace {

using flow::naive::along;
using testing::backend;
using testing::ForcedIsa;
using testing::next_seed;

/// tr / 3 of the product along a path, averaged over the sites.
Complex averaged(const Lattice& lattice, const HostLinks& links, const std::vector<int>& path) {
  Complex sum = 0;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Matrix3 product = along(lattice, links, lattice.coordinates(site), path);
    sum += product(0, 0) + product(1, 1) + product(2, 2);
  }
  return sum / (3.0 * double(lattice.volume()));
}

std::vector<int> rectangle(int mu, int nu, int r, int t) {
  std::vector<int> path(std::size_t(r), mu);
  path.insert(path.end(), std::size_t(t), nu);
  path.insert(path.end(), std::size_t(r), mu - 4);
  path.insert(path.end(), std::size_t(t), nu - 4);
  return path;
}

std::vector<Isa> isas_under_test() {
  return backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
}

class LoopsOn : public ::testing::TestWithParam<Dims> {
 protected:
  GaugeStore store(const HostLinks& links) const { return GaugeStore(lattice, links, backend()); }
  const Lattice lattice{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Extents, LoopsOn,
                         ::testing::Values(Dims{4, 4, 4, 4}, Dims{4, 6, 8, 2}, Dims{2, 2, 2, 8}, Dims{12, 4, 2, 6}));

TEST_P(LoopsOn, WilsonLoopsAreTheProductsAlongRectangles) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.4);
  for (const Isa isa : isas_under_test()) {
    const ForcedIsa forced(isa);
    const GaugeStore links = store(start);
    for (int mu = 0; mu < 4; ++mu) {
      const int nu = (mu + 1 + int(next_seed() % 3)) % 4;
      const LoopTable found = wilson_loops(links, {mu, nu, 3, 2});
      ASSERT_EQ(found.size(), 3u);
      for (int r = 1; r <= 3; ++r) {
        ASSERT_EQ(found[std::size_t(r - 1)].size(), 2u);
        for (int t = 1; t <= 2; ++t) {
          const double expected = averaged(lattice, start, rectangle(mu, nu, r, t)).real();
          EXPECT_NEAR(found[std::size_t(r - 1)][std::size_t(t - 1)], expected, 1e-13)
              << to_string(isa) << ": " << r << " x " << t << " in " << mu << nu;
        }
      }
    }
  }
}

TEST_P(LoopsOn, PolyakovLoopsAreTheProductsAroundTheLattice) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.4);
  for (const Isa isa : isas_under_test()) {
    const ForcedIsa forced(isa);
    const GaugeStore links = store(start);
    for (int mu = 0; mu < 4; ++mu) {
      const std::vector<int> line(std::size_t(lattice.dims()[std::size_t(mu)]), mu);
      const Complex expected = averaged(lattice, start, line);
      EXPECT_LT(std::abs(polyakov_loop(links, mu) - expected), 1e-13) << to_string(isa);
      EXPECT_GT(std::abs(expected), 1e-6);
    }
  }
}

TEST_P(LoopsOn, OneByOneIsThePlaquette) {
  const GaugeStore links = store(testing::hot_start(lattice, next_seed()));
  const GaugeObservables seen = links.observables();
  std::size_t plane = 0;
  for (int mu = 0; mu < 4; ++mu) {
    for (int nu = mu + 1; nu < 4; ++nu, ++plane) {
      EXPECT_NEAR(wilson_loops(links, {mu, nu, 1, 1})[0][0], seen.planes[plane], 1e-13);
      EXPECT_NEAR(wilson_loops(links, {nu, mu, 1, 1})[0][0], seen.planes[plane], 1e-13);
    }
  }
}

TEST_P(LoopsOn, AreGaugeInvariant) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.5);
  const GaugeStore links = store(start);
  const std::vector<Complex> g = testing::random_transformation(lattice, next_seed());
  const GaugeStore other = store(testing::gauge_transformed(lattice, start, g));
  EXPECT_LT(std::abs(polyakov_loop(links, 3) - polyakov_loop(other, 3)), 1e-13);
  const LoopTable one = wilson_loops(links, {1, 3, 2, 3}), two = wilson_loops(other, {1, 3, 2, 3});
  for (std::size_t r = 0; r < one.size(); ++r) {
    for (std::size_t t = 0; t < one[r].size(); ++t) EXPECT_NEAR(one[r][t], two[r][t], 1e-13);
  }
}

// U_t = exp(i B z H) with diagonal H: a constant field in the plane zt, whose loops are cos of the area inside; those
// that cross the edge of the torus see the jump.
TEST(Loops, AConstantAbelianFieldGivesCosinesOfTheArea) {
  const Dims dims{2, 4, 12, 6};
  const Lattice lattice(dims);
  const double field = 2 * std::numbers::pi / dims[2];  // periodic in z
  HostLinks links = testing::cold_start(lattice);
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const double phase = field * lattice.coordinates(site)[2];
    Matrix3 u = Matrix3::identity();
    u(0, 0) = std::polar(1.0, phase);
    u(1, 1) = std::polar(1.0, -phase);
    u.write(links.link(site, 3));
  }
  const GaugeStore store(lattice, links, backend());
  const LoopTable loops = wilson_loops(store, {2, 3, 12, 6}), flat = wilson_loops(store, {0, 3, 2, 6});
  for (int r = 1; r <= 12; ++r) {
    for (int t = 1; t <= 6; ++t) {
      const double expected = (1 + 2 * std::cos(field * r * t)) / 3;
      EXPECT_NEAR(loops[std::size_t(r - 1)][std::size_t(t - 1)], expected, 1e-12) << r << " x " << t;
      if (r <= 2) {
        EXPECT_NEAR(flat[std::size_t(r - 1)][std::size_t(t - 1)], 1, 1e-13);
      }
    }
  }
  EXPECT_NEAR(std::abs(polyakov_loop(store, 2) - 1.0), 0, 1e-14);
}

TEST(Loops, ACentreElementOnATimeSliceTurnsPolyakovLoopsOnly) {
  const Lattice lattice({4, 2, 6, 4});
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.3);
  HostLinks turned = start;
  const Complex z = std::polar(1.0, 2 * std::numbers::pi / 3);
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    if (lattice.coordinates(site)[3] != 2) continue;
    (z * Matrix3::read(start.link(site, 3))).write(turned.link(site, 3));
  }
  const GaugeStore before(lattice, start, backend()), after(lattice, turned, backend());
  EXPECT_LT(std::abs(polyakov_loop(after, 3) - z * polyakov_loop(before, 3)), 1e-13);
  EXPECT_LT(std::abs(polyakov_loop(after, 0) - polyakov_loop(before, 0)), 1e-14);
  EXPECT_NEAR(wilson_loops(after, {0, 3, 2, 2})[1][1], wilson_loops(before, {0, 3, 2, 2})[1][1], 1e-13);
}

TEST(Loops, AnyNumberOfThreadsGivesTheSameBits) {
  const Lattice lattice({8, 4, 6, 8});
  const GaugeStore links(lattice, testing::hot_start(lattice, next_seed()), backend());
  const int before = omp_get_max_threads();
  std::vector<LoopTable> found;
  std::vector<Complex> polyakov;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    found.push_back(wilson_loops(links, {2, 3, 3, 3}));
    polyakov.push_back(polyakov_loop(links, 3));
  }
  omp_set_num_threads(before);
  for (std::size_t k = 1; k < found.size(); ++k) {
    EXPECT_EQ(found[k], found[0]);
    EXPECT_EQ(polyakov[k], polyakov[0]);
  }
}

}  // namespace
}  // namespace quadrille::loops
