// Chains of pure gauge theory over several ranks against one process: links have the same bits, sums agree to rounding.
#include "modules/quenched/pure_gauge.h"
#include "tests/modules/quenched/link_forms.h"
#include "tests/ranks/gauge/differing_links.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace quadrille::quenched {
namespace {

using testing::differing_links;
using testing::divided_dims;
using testing::ranks;

constexpr WilsonGaugeAction action{5.8, 1.7};

/// Links of a rank's part as they are after some sweeps, and what is measured of all.
struct Outcome {
  HostLinks links{Dims{}};
  std::array<double, 6> planes;
  Complex loop;
  double change;
  std::int64_t attempts;

  Outcome(const Lattice& lattice, const LinkForm& form, std::uint64_t seed) {
    PureGauge gauge(GaugeStore(lattice, GaugeStart::hot(seed), testing::backend()), action, seed + 1, form);
    gauge.sweep(0, 1);
    change = gauge.reunitarize();
    gauge.sweep(1, 1);
    planes = gauge.planes();
    loop = gauge.polyakov_loop();
    attempts = gauge.counts().attempts;
    links = gauge.links().host_links();
  }
};

void expect_the_chain_of_one_process(const Dims& dims, const std::vector<Dims>& grids, const LinkForm& form) {
  const std::uint64_t seed = testing::shared_seed();
  const Lattice whole(dims);
  const Outcome expected(whole, form, seed);
  const double rounding = form.precision == Precision::Single ? 1e-7 : 1e-13;
  for (const Dims& grid : grids) {
    const Lattice lattice(dims, ranks().communicator(grid));
    const Outcome found(lattice, form, seed);
    const std::string what = fmt::format("{} {} {} {} on {}, {} {}", dims[0], dims[1], dims[2], dims[3],
                                         grid_text(grid), to_string(form.precision), to_string(form.reconstruct));
    EXPECT_EQ(differing_links(found.links, lattice, expected.links), 0) << what;
    for (std::size_t plane = 0; plane < 6; ++plane)
      EXPECT_NEAR(found.planes[plane], expected.planes[plane], rounding) << what << ", plane " << plane;
    EXPECT_LT(std::abs(found.loop - expected.loop), rounding) << what;
    EXPECT_EQ(found.change, expected.change) << what;
    EXPECT_EQ(found.attempts, expected.attempts) << what;
  }
}

class RankChain : public ::testing::TestWithParam<LinkForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, RankChain, ::testing::ValuesIn(tested_forms),
                         [](const ::testing::TestParamInfo<LinkForm>& info) {
                           return to_string(info.param.precision) + "_" + to_string(info.param.reconstruct);
                         });

TEST_P(RankChain, IsThatOfOneProcess) {
  expect_the_chain_of_one_process(divided_dims, testing::some_grids(6), GetParam());
}

/// Parts of two sites, which are all on faces; of four, which are cut into lanes where they are divided
/// too; and of six, which cannot be cut.
TEST_P(RankChain, OfSmallPartsIsThatOfOneProcess) {
  std::vector<Dims> grids = possible_grids({24, 24, 24, 24}, ranks().size());
  std::shuffle(grids.begin(), grids.end(), std::mt19937_64(testing::shared_seed()));
  grids.resize(std::min<std::size_t>(grids.size(), 3));
  for (const Dims& grid : grids) {
    for (const int extent : {2, 4, 6}) {
      Dims dims;
      for (std::size_t mu = 0; mu < 4; ++mu) dims[mu] = grid[mu] > 1 ? extent * grid[mu] : extent == 6 ? 2 : 4;
      expect_the_chain_of_one_process(dims, {grid}, GetParam());
    }
  }
}

}  // namespace
}  // namespace quadrille::quenched
