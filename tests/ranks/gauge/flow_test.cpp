// The gradient flow over several ranks against one process: links have the same bits, sums agree to rounding.
#include "modules/flow/gradient_flow.h"
#include "modules/flow/smearing.h"
#include "tests/ranks/gauge/differing_links.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

namespace quadrille::flow {
namespace {

using testing::differing_links;
using testing::divided_dims;
using testing::ranks;

/// Links of a rank's part after some steps, and what is measured of all.
struct Outcome {
  HostLinks links{Dims{}};
  FlowPoint point;

  Outcome(const Lattice& lattice, std::uint64_t seed) {
    GradientFlow flow(GaugeStore(lattice, GaugeStart::hot(seed), testing::backend()));
    for (int step = 0; step < 2; ++step) flow.step(0.05);
    point = flow.measure();
    flow.step(0.03);  // measurements change no link
    GradientFlow further(flow.links(), symanzik_action);
    further.step(0.02);
    links = further.links().host_links();
  }
};

TEST(RankFlow, IsThatOfOneProcess) {
  const std::uint64_t seed = testing::shared_seed();
  const Lattice whole(divided_dims);
  const Outcome expected(whole, seed);
  for (const Dims& grid : testing::some_grids(6)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const Outcome found(lattice, seed);
    const std::string what = "on " + grid_text(grid);
    EXPECT_EQ(differing_links(found.links, lattice, expected.links), 0) << what;
    EXPECT_EQ(found.point.plaquette, expected.point.plaquette) << what;
    EXPECT_NEAR(found.point.energy_clover, expected.point.energy_clover, 1e-12 * expected.point.energy_clover) << what;
    EXPECT_NEAR(found.point.charge, expected.point.charge, 1e-13 * double(whole.volume())) << what;
  }
}

TEST(RankFlow, SmearedLinksAreThoseOfOneProcess) {
  const std::uint64_t seed = testing::shared_seed();
  const Lattice whole(divided_dims);
  const auto made = [&](const Lattice& lattice) {
    const GaugeStore links(lattice, GaugeStart::weak(seed, 0.5), testing::backend());
    const GaugeStore stout = smeared(links, StoutSmearing{0.12, 2, spatial_directions});
    const GaugeStore ape = smeared(stout, ApeSmearing{0.6, 2});
    return smeared(smeared(ape, HypSmearing{}), HypSmearing{.directions = spatial_directions}).host_links();
  };
  const HostLinks expected = made(whole);
  for (const Dims& grid : testing::some_grids(6)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    EXPECT_EQ(differing_links(made(lattice), lattice, expected), 0) << grid_text(grid);
  }
}

}  // namespace
}  // namespace quadrille::flow
