// Halo exchange of fields of any site format: every number that a shift from this rank's sites finds, and every corner,
// is that of the neighbour in the whole lattice.
#include "core/error.h"
#include "core/field/halo_exchange.h"
#include "core/field/site_groups.h"
#include "tests/ranks/marked_field.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

using testing::divided_dims;
using testing::MarkedField;
using testing::ranks;

/// The numbers of a field and of its ghosts, where its halo puts them.
class Shifts {
 public:
  Shifts(MarkedField& marked, const HaloExchange& halo, const VectorLayout& layout)
      : marked_(marked), halo_(halo), layout_(layout) {
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      for (int section = 0; section < marked.sections(); ++section)
        groups_[std::size_t(p)].push_back(section_of(marked.field(), section, p).groups);
    }
  }

  /// How many numbers of the sections for which `read` holds a shift in d, then in e unless it is -1, does not find.
  template <class Read>
  std::int64_t missing(std::uint64_t seed, int d, int e, const Read& read) const {
    std::int64_t count = 0;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      for (std::int64_t slot = 0; slot < layout_.blocks() * layout_.lanes(); ++slot) {
        std::int64_t block = slot / layout_.lanes();
        int lane = int(slot % layout_.lanes());
        Dims x = marked_.global(marked_.field().lattice().coordinates(p, layout_.sites(p)[std::size_t(slot)]));
        Parity here = p;
        for (const int step : {d, e}) {
          if (step < 0) continue;
          x[step % 4] += step < 4 ? 1 : -1;
          if ((halo_.wraps(here)[block] >> step & 1u) != 0) lane = layout_.rotation(step)[std::size_t(lane)];
          block = halo_.neighbours(here)[block * 8 + step];
          here = opposite(here);
        }
        for (int section = 0; section < marked_.sections(); ++section) {
          if (read(section)) count += missing_at(seed, x, here, block, lane, section);
        }
      }
    }
    return count;
  }

 private:
  std::int64_t missing_at(std::uint64_t seed, const Dims& x, Parity p, std::int64_t block, int lane,
                          int section) const {
    const int bytes = int(marked_.bytes_of_number(section)), lanes = layout_.lanes();
    std::int64_t count = 0;
    for (int n = 0; n < marked_.numbers(section); ++n) {
      const std::byte* number = nullptr;
      if (block < layout_.blocks()) {
        const std::int32_t site = layout_.sites(p)[std::size_t(block * lanes + lane)];
        number = groups_[std::size_t(p)][std::size_t(section)].group(site, n * bytes, bytes);
      } else {
        const std::int64_t ghost = block - layout_.blocks();
        number = static_cast<const std::byte*>(halo_.ghosts(p, section)) +
                 ((ghost * marked_.numbers(section) + n) * lanes + lane) * bytes;
      }
      count += marked_.equals(number, seed, x, section, n) ? 0 : 1;
    }
    return count;
  }

  MarkedField& marked_;
  const HaloExchange& halo_;
  const VectorLayout& layout_;
  std::array<std::vector<SiteGroups>, 2> groups_;  ///< by parity and section
};

/// With corners of section s in direction s; or, in one direction, of all sections, the norms with them.
std::vector<SectionHalo> halo_of(MarkedField& marked, int corners) {
  std::vector<SectionHalo> sections;
  for (int s = 0; s < marked.field().desc().site.sections; ++s)
    sections.push_back({.corners = corners < 0 ? s : corners});
  return sections;
}

void every_shift(const Shifts& shifts, std::uint64_t seed, int corners, const std::string& name) {
  const auto all = [](int) { return true; };
  for (int d = 0; d < 8; ++d) {
    EXPECT_EQ(shifts.missing(seed, d, -1, all), 0) << name << ", shift " << d;
    for (int nu = 0; d < 4 && nu < 4; ++nu) {
      if (nu == d) continue;
      const auto read = [&](int section) { return corners < 0 ? section == nu : corners == nu; };
      EXPECT_EQ(shifts.missing(seed, d, nu + 4, read), 0) << name << ", " << d << " " << nu;
    }
  }
}

/// In one of the widths that fit.
void shifts_find_the_neighbours(const Lattice& lattice, const SiteFormat& format, Precision precision, int lanes) {
  MarkedField marked(lattice, format, precision, Layout{lanes});
  const int corners = marked.field().desc().has_norms() ? int(testing::shared_seed() / 8 % 4) : -1;
  const std::uint64_t seed = testing::shared_seed();
  marked.fill(seed);
  HaloExchange halo(marked.field(), halo_of(marked, corners));
  const Dims& grid = lattice.communicator().grid();
  const std::string name = marked.name() + ", " + std::to_string(lanes) + " lanes, " + grid_text(grid);
  const Shifts shifts(marked, halo, lattice.vector_layout(lanes));
  every_shift(shifts, seed, corners, name);
  marked.fill(seed + 1);  // the ghosts are still those of before, and then are not
  for (int d = 0; d < 8; ++d) {
    EXPECT_EQ(shifts.missing(seed + 1, d, -1, [](int) { return true; }) > 0, grid[d % 4] > 1);
  }
  halo.exchange_all();
  every_shift(shifts, seed + 1, corners, name + ", again");
}

TEST(RankHalo, ShiftsAndCornersFindTheNeighbours) {
  std::vector<Dims> grids = testing::some_grids(1);
  // Lanes rotate where ranks and lanes cut the same direction.
  if (ranks().size() == 4) grids.push_back({2, 1, 1, 2});
  for (const Dims& grid : grids) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    for (const SiteFormat& format : testing::marked_formats) {
      for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
        // One of the widths for each, another one in every run.
        int lanes = 1 << testing::shared_seed() / 8 % 5;
        while (!VectorLayout::fits(lattice.dims(), lanes)) lanes /= 2;
        shifts_find_the_neighbours(lattice, format, precision, lanes);
      }
    }
  }
}

TEST(RankHalo, WhatCannotBeIsRefused) {
  const Lattice lattice(divided_dims, ranks().communicator(testing::some_grids(1).front()));
  const Field links(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18));
  const Field half(FieldDesc::spinor(lattice, Subset::Even, Precision::Single));
  const Field spinors(FieldDesc::spinor(lattice, Subset::Full, Precision::Half));
  const auto refused = [](const Field& field, const std::vector<SectionHalo>& sections) {
    try {
      HaloExchange(field, sections);
      ADD_FAILURE() << "not refused";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::internal);
    }
  };
  refused(links, std::vector<SectionHalo>(3));
  refused(half, std::vector<SectionHalo>(2));
  refused(spinors, {{.corners = 4}, {}});
  refused(spinors, {{.corners = 0}, {.corners = 1}});     // which of them would the norms have?
  refused(spinors, {{.faces = 0xef, .corners = 0}, {}});  // corners come by the backward face
}

}  // namespace
}  // namespace quadrille
