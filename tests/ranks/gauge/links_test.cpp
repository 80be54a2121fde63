// Gauge stores over several ranks against the same links in one process.
#include "core/error.h"
#include "core/field/convert.h"
#include "core/gauge/gauge_store.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <cstring>

namespace quadrille {
namespace {

using testing::backend;
using testing::divided_dims;
using testing::ranks;

/// The links of one rank's part, of links on the whole lattice.
HostLinks part_of(const HostLinks& whole, const Lattice& lattice) {
  HostLinks part(lattice.dims());
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const std::int64_t global = lattice.global_site(lattice.coordinates(site));
    for (int mu = 0; mu < 4; ++mu) std::memcpy(part.link(site, mu), whole.link(global, mu), 9 * sizeof(Complex));
  }
  return part;
}

bool same_bits(const HostLinks& a, const HostLinks& b) {
  return std::memcmp(a.data.data(), b.data.data(), a.data.size() * sizeof a.data[0]) == 0;
}

TEST(RankLinks, StartsArePartsOfOneField) {
  const GaugeStart start = GaugeStart::hot(testing::shared_seed());
  const Lattice whole(divided_dims);
  const HostLinks expected = GaugeStore(whole, start, backend()).host_links();
  for (const Dims& grid : testing::some_grids()) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    EXPECT_TRUE(same_bits(GaugeStore(lattice, start, backend()).host_links(), part_of(expected, lattice)))
        << grid_text(grid);
  }
}

TEST(RankLinks, ObservablesAreThoseOfTheWholeLattice) {
  const GaugeStart start = GaugeStart::weak(testing::shared_seed(), 0.4);
  const Lattice whole(divided_dims);
  const GaugeObservables expected = GaugeStore(whole, start, backend()).observables();
  for (const Dims& grid : testing::some_grids(16)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const GaugeObservables found = GaugeStore(lattice, start, backend()).observables();
    EXPECT_EQ(found.plaquette, expected.plaquette) << grid_text(grid);
    EXPECT_EQ(found.link_trace, expected.link_trace) << grid_text(grid);
    EXPECT_EQ(found.planes, expected.planes) << grid_text(grid);
    EXPECT_EQ(found.unitarity.unitarity, expected.unitarity.unitarity);
    EXPECT_EQ(found.unitarity.unitarity_site, expected.unitarity.unitarity_site);
    EXPECT_EQ(found.unitarity.determinant_direction, expected.unitarity.determinant_direction);
  }
}

TEST(RankLinks, AllRanksNameTheWorstLink) {
  const Dims place{5, 3, 2, 9};
  const Lattice whole(divided_dims);
  HostLinks longer = GaugeStore(whole, GaugeStart::weak(testing::shared_seed(), 0.2), backend()).host_links(),
            singular = longer;
  for (int i = 0; i < 9; ++i) longer.link(whole.site(place), 2)[i] *= 1.001;
  for (int i = 0; i < 9; ++i) singular.link(whole.site(place), 2)[i] = 0;
  for (const Dims& grid : testing::some_grids()) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    GaugeStore store(lattice, part_of(longer, lattice), backend());
    const Unitarity found = store.unitarity();
    EXPECT_NEAR(found.unitarity, 0.002001, 1e-9);
    EXPECT_EQ(found.unitarity_site, whole.site(place));
    EXPECT_EQ(found.unitarity_direction, 2);
    EXPECT_GT(store.project(), 1e-4);
    EXPECT_LT(store.unitarity().unitarity, 1e-14);
    store.set(part_of(singular, lattice));
    try {
      store.project();
      ADD_FAILURE() << "projected a zero";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("site (5,3,2,9), direction z"), std::string::npos) << error.message();
    }
  }
}

TEST(RankLinks, TemporalGaugeIsTheSameOnEveryGrid) {
  const GaugeStart start = GaugeStart::hot(testing::shared_seed());
  const Lattice whole(divided_dims);
  const GaugeStore one(whole, start, backend());
  const OperatorForm form{Precision::Double, Reconstruct::R18, true};
  const auto links_of = [](const GaugeStore& store, const LinkFields& fields) {
    HostLinks host(store.lattice().dims());
    export_links(host, fields.spatial);
    export_links(host, fields.time);
    return host;
  };
  const HostLinks expected = links_of(one, *one.form(form));
  for (const Dims& grid : testing::some_grids(8)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const GaugeStore store(lattice, start, backend());
    EXPECT_TRUE(same_bits(links_of(store, *store.form(form)), part_of(expected, lattice))) << grid_text(grid);
  }
}

}  // namespace
}  // namespace quadrille
