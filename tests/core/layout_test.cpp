// Geometry and the vector layout: every site has one place, and a shift finds the neighbour.
#include "core/layout/vector_layout.h"

#include "core/error.h"
#include "core/layout/grouped_layout.h"
#include "core/simd/isa.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <type_traits>
#include <vector>

namespace quadrille {
namespace {

const Dims extents[] = {{4, 4, 4, 4}, {4, 6, 8, 10}, {12, 4, 2, 6}, {16, 8, 4, 8},
                        {6, 6, 6, 6}, {2, 2, 2, 2},  {2, 4, 2, 64}};

TEST(Lattice, EvenOddIndexIsABijection) {
  for (const Dims& dims : extents) {
    const Lattice lattice(dims);
    std::set<std::int64_t> seen;
    for (Parity p : {Parity::Even, Parity::Odd}) {
      for (std::int64_t i = 0; i < lattice.half_volume(); ++i) {
        const Dims x = lattice.coordinates(p, i);
        EXPECT_EQ(Lattice::parity(x), int(p));
        EXPECT_EQ(lattice.even_odd_index(x), i);
        EXPECT_EQ(lattice.coordinates(lattice.site(x)), x);
        seen.insert(lattice.site(x));
      }
    }
    EXPECT_EQ(std::int64_t(seen.size()), lattice.volume());
  }
}

TEST(Lattice, RefusesOddAndEmptyExtents) {
  for (const Dims& dims : {Dims{4, 4, 5, 4}, Dims{0, 4, 4, 4}, Dims{4, 4, 4, -2}, Dims{1, 4, 4, 4}}) {
    try {
      const Lattice lattice(dims);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_NE(error.message().find("positive even"), std::string::npos);
    }
  }
}

TEST(VectorLayout, PlacesEverySiteOnceAndShiftsToTheNeighbour) {
  for (const Dims& dims : extents) {
    const Lattice lattice(dims);
    for (int lanes : {1, 2, 4, 8, 16}) {
      if (!VectorLayout::fits(dims, lanes)) continue;
      const VectorLayout& layout = lattice.vector_layout(lanes);
      std::vector<std::int64_t> site_at[2];  // lexicographic site of each slot
      for (Parity p : {Parity::Even, Parity::Odd}) {
        auto& sites = site_at[int(p)];
        sites.assign(std::size_t(lattice.half_volume()), -1);
        for (std::int64_t i = 0; i < lattice.half_volume(); ++i) {
          const std::int32_t slot = layout.slots(p)[std::size_t(i)];
          ASSERT_EQ(sites.at(std::size_t(slot)), -1) << "two sites in one slot";
          sites[std::size_t(slot)] = lattice.site(lattice.coordinates(p, i));
        }
      }
      for (Parity p : {Parity::Even, Parity::Odd}) {
        for (std::int64_t block = 0; block < layout.blocks(); ++block) {
          for (int d = 0; d < 8; ++d) {
            const bool wraps = layout.wraps(p)[std::size_t(block)] >> d & 1;
            for (int lane = 0; lane < lanes; ++lane) {
              Dims x = lattice.coordinates(site_at[int(p)][std::size_t(block * lanes + lane)]);
              const int mu = d % 4;
              x[mu] = (x[mu] + (d < 4 ? 1 : dims[mu] - 1)) % dims[mu];
              const int from = wraps ? layout.rotation(d)[std::size_t(lane)] : lane;
              const std::int64_t there = layout.neighbours(p)[std::size_t(block * 8 + d)];
              ASSERT_EQ(site_at[1 - int(p)][std::size_t(there * lanes + from)], lattice.site(x))
                  << "lanes " << lanes << " block " << block << " direction " << d << " lane " << lane;
            }
          }
        }
      }
    }
  }
}

TEST(VectorLayout, UsesTheWidestVectorThatFits) {
  EXPECT_EQ(choose_lanes({4, 4, 4, 4}, Precision::Single, Isa::generic), 4);
  EXPECT_EQ(choose_lanes({6, 6, 6, 6}, Precision::Double, Isa::generic), 1);
  EXPECT_EQ(choose_lanes({12, 4, 2, 6}, Precision::Half, Isa::generic), 4);
  for (Isa isa : available_isas()) {
    for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
      EXPECT_EQ(choose_lanes({16, 16, 16, 32}, p, isa), native_lanes(isa, p));
      EXPECT_EQ(isa_of_lanes(native_lanes(isa, p), p), isa);
    }
  }
}

/// The words that kernels read whole groups of hold the numbers that grouped_place() puts there.
template <int sections, int section>
void check_groups(Precision precision) {
  const int number = int(number_bytes(precision)), width = grouped_layout(precision).width;
  const auto compare = [&]<int section_words>(std::integral_constant<int, section_words>) {
    using Places = GroupedPlaces<sections, section_words>;
    std::mt19937_64 random(testing::next_seed());
    std::vector<std::int64_t> sites{0, 1, Layout::block - 1, Layout::block, (std::int64_t(1) << 40) + 63};
    for (int i = 0; i < 50; ++i) sites.push_back(std::int64_t(random() % (std::uint64_t(1) << 34)));
    for (const std::int64_t site : sites) {
      for (int n = 0; n < sections * section; ++n) {
        const int word = n % section * number / 4, group = word / 4;
        std::int64_t start = Places::template start<4>(site);
        if (group == Places::whole_groups) {
          start = Places::left == 1 ? Places::template start<1>(site) : Places::template start<2>(site);
        }
        const std::int64_t at = start + Places::group(n / section, group) + word % 4;
        const std::int64_t place = grouped_place(site, n, sections * section, section, width);
        ASSERT_EQ(at * 4 + n % section * number % 4, place * number)
            << sections << " x " << section << " " << to_string(precision) << ", site " << site << ", number " << n;
      }
    }
  };
  if (precision == Precision::Double) compare(std::integral_constant<int, section * 2>());
  if (precision == Precision::Single) compare(std::integral_constant<int, section>());
  if (precision == Precision::Half) compare(std::integral_constant<int, section / 2>());
}

TEST(GroupedLayout, WholeGroupsAreWhereTheirNumbersAre) {
  for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    check_groups<2, 12>(precision);  // spinors
    check_groups<1, 18>(precision);  // 3 x 3 matrices
    check_groups<6, 18>(precision);  // links
    check_groups<6, 12>(precision);
    check_groups<2, 8>(precision);
  }
}

TEST(Isa, QuadrilleIsaForcesOneAndRefusesTheUnknown) {
  setenv("QUADRILLE_ISA", "generic", 1);
  EXPECT_EQ(active_isa(), Isa::generic);
  setenv("QUADRILLE_ISA", "sse9", 1);
  EXPECT_THROW(active_isa(), Error);
  unsetenv("QUADRILLE_ISA");
  EXPECT_EQ(active_isa(), available_isas().back());
}

}  // namespace
}  // namespace quadrille
