// Loops and gauge fixing over several ranks against one process: links have the same bits, sums agree to rounding.
#include "modules/loops/loops.h"
#include "modules/gauge_fixing/fixing.h"
#include "tests/ranks/gauge/differing_links.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace quadrille {
namespace {

using testing::differing_links;
using testing::divided_dims;
using testing::ranks;

TEST(RankLoops, AreThoseOfOneProcess) {
  const std::uint64_t seed = testing::shared_seed();
  const auto links_on = [&](const Lattice& lattice) {
    return GaugeStore(lattice, GaugeStart::weak(seed, 0.5), testing::backend());
  };
  const Lattice whole(divided_dims);
  const GaugeStore expected = links_on(whole);
  for (const Dims& grid : testing::some_grids(6)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const GaugeStore links = links_on(lattice);
    for (int mu = 0; mu < 4; ++mu) {
      EXPECT_LT(std::abs(loops::polyakov_loop(links, mu) - loops::polyakov_loop(expected, mu)), 1e-14)
          << grid_text(grid) << " " << mu;
      const loops::LoopPlane plane{mu, (mu + 1) % 4, 2, 3};
      const loops::LoopTable found = loops::wilson_loops(links, plane), right = loops::wilson_loops(expected, plane);
      for (std::size_t r = 0; r < 2; ++r) {
        for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(found[r][t], right[r][t], 1e-14) << grid_text(grid);
      }
    }
  }
}

TEST(RankGaugeFixing, LinksAreThoseOfOneProcess) {
  const std::uint64_t seed = testing::shared_seed();
  struct Outcome {
    HostLinks links{Dims{}};
    gauge_fixing::GaugeState state;

    Outcome(const Lattice& lattice, std::uint64_t from, gauge_fixing::Gauge gauge) {
      const GaugeStore store(lattice, GaugeStart::hot(from), testing::backend());
      gauge_fixing::GaugeFixing fixing(store, gauge);
      for (int k = 0; k < 3; ++k) fixing.iterate(1.8);
      state = fixing.measure();
      links = fixing.links()->host_links();
    }
  };
  const Lattice whole(divided_dims);
  for (const auto gauge : {gauge_fixing::Gauge::Landau, gauge_fixing::Gauge::Coulomb}) {
    const Outcome expected(whole, seed, gauge);
    for (const Dims& grid : testing::some_grids(6)) {
      const Lattice lattice(divided_dims, ranks().communicator(grid));
      const Outcome found(lattice, seed, gauge);
      EXPECT_EQ(differing_links(found.links, lattice, expected.links), 0) << grid_text(grid);
      EXPECT_NEAR(found.state.functional, expected.state.functional, 1e-14) << grid_text(grid);
      EXPECT_NEAR(found.state.theta, expected.state.theta, 1e-13) << grid_text(grid);
    }
  }
}

}  // namespace
}  // namespace quadrille
