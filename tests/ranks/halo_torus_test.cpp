// Halos on a torus: every site of the torus has the numbers of that site of the whole lattice, in any format,
// precision, layout and depth.
#include "core/field/halo_torus.h"
#include "core/error.h"
#include "tests/ranks/marked_field.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille {
namespace {

using testing::backend;
using testing::divided_dims;
using testing::marked_formats;
using testing::MarkedField;
using testing::ranks;

/// Of a place on the torus, counted from this rank's first site: ghosts in the second half lie before that.
struct OnTorus {
  Dims own, torus;
  int depth;

  Dims operator()(Dims x) const {
    for (std::size_t mu = 0; mu < 4; ++mu) {
      if (x[mu] >= own[mu] + depth) x[mu] -= torus[mu];
    }
    return x;
  }
};

/// Sites of the torus that are ghosts.
std::int64_t ghosts(const OnTorus& on) { return volume(on.torus) - volume(on.own); }

std::vector<Layout> layouts(const Lattice& lattice, Precision precision) {
  std::vector<Layout> all{backend().layout(lattice, precision)};
  if (backend().host_memory()) all.insert(all.end(), {Layout{1}, grouped_layout(precision)});
  return all;
}

void fills_and_follows(const Lattice& lattice, const SiteFormat& format, Precision precision, const Layout& layout,
                       int depth) {
  MarkedField marked(lattice, format, precision, layout);
  const std::uint64_t seed = testing::shared_seed();
  marked.fill(seed);
  HaloTorus halo(marked.field(), depth);
  const OnTorus place{lattice.dims(), halo.field().lattice().dims(), depth};
  const Dims& grid = lattice.communicator().grid();
  const std::string name = marked.name() + ", depth " + std::to_string(depth) + ", " + grid_text(grid);
  for (std::size_t mu = 0; mu < 4; ++mu)
    EXPECT_EQ(place.torus[mu], place.own[mu] + (grid[mu] > 1 ? 2 * depth : 0)) << name;
  EXPECT_EQ(marked.missing(halo.field(), seed, place), 0) << name;

  // Other numbers arrive section by section, and nothing else changes before.
  marked.fill(seed + 1);
  const std::int64_t numbers = format.numbers() + (marked.sections() > format.sections ? 1 : 0);
  halo.copy_in();
  const std::int64_t stale = marked.missing(halo.field(), seed + 1, place);
  EXPECT_LE(stale, ghosts(place) * numbers) << name;  // two numbers of 16 bits may agree
  EXPECT_GT(stale, ghosts(place) * numbers * 9 / 10) << name;
  const int last = marked.sections() - 1;
  const std::int64_t of_section = ghosts(place) / 2 * marked.numbers(last);
  halo.exchange(last, Parity::Odd);
  const std::int64_t fewer = marked.missing(halo.field(), seed + 1, place);
  EXPECT_LE(stale - fewer, of_section) << name;
  EXPECT_GT(stale - fewer, of_section * 9 / 10) << name;
  halo.exchange_all();
  EXPECT_EQ(marked.missing(halo.field(), seed + 1, place), 0) << name;

  // And back.
  marked.fill(seed + 2);
  halo.copy_back();
  EXPECT_EQ(marked.missing(marked.field(), seed + 1, [](const Dims& x) { return x; }), 0) << name;
}

TEST(RankHaloTorus, EverySiteOfTheTorusIsThatOfTheWholeLattice) {
  for (const Dims& grid : testing::some_grids(1)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    for (const SiteFormat& format : marked_formats) {
      for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
        // One of the layouts and depths for each, others in every run.
        const std::vector<Layout> all = layouts(lattice, precision);
        const Layout& layout = all[std::size_t(testing::shared_seed() / 8 % all.size())];
        int most = 3;
        for (std::size_t mu = 0; mu < 4; ++mu) most = std::min(most, grid[mu] > 1 ? lattice.dims()[mu] : most);
        fills_and_follows(lattice, format, precision, layout,
                          1 + int(testing::shared_seed() / 8 % std::uint64_t(most)));
      }
    }
  }
}

TEST(RankHaloTorus, WhatCannotBeIsRefused) {
  const Dims grid = testing::some_grids(1).front();
  const Lattice lattice(divided_dims, ranks().communicator(grid));
  Field links(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, backend()));
  Field half(FieldDesc::spinor(lattice, Subset::Even, Precision::Single, backend()));
  const auto refused = [](Field& field, int depth, ErrorCode code) {
    try {
      HaloTorus(field, depth);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return std::string(error.what());
    }
    return std::string("not refused");
  };
  const std::string needed = "a full field and a depth of 1 or more are needed";
  EXPECT_NE(refused(links, 0, ErrorCode::internal).find(needed), std::string::npos);
  EXPECT_NE(refused(half, 1, ErrorCode::internal).find(needed), std::string::npos);
  EXPECT_NE(refused(links, 17, ErrorCode::unsupported).find("a halo of depth 17"), std::string::npos);
}

}  // namespace
}  // namespace quadrille
