// Halo exchange of fields of any site format: every number that a shift from this rank's sites finds, and every corner,
// is that of the neighbour in the whole lattice.
#include "core/error.h"
#include "core/field/halo_exchange.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <cstring>

namespace quadrille {
namespace {

using testing::divided_dims;
using testing::ranks;

constexpr SiteFormat formats[] = {
    {"momenta", 1, 8, true}, {"chiral blocks", 2, 36, false}, {"coarse vectors", 3, 16, true}, {"links", 4, 12, false}};

/// Some bits for a number of a site of the whole lattice, or with component -1 for its norm.
std::uint64_t bits_of(std::uint64_t seed, std::int64_t global_site, int component) {
  std::uint64_t x = seed + std::uint64_t(global_site) * 1000 + std::uint64_t(component + 1);
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/// A field whose memory is bits_of(), and where the numbers of a block or ghost lie.
class Marked {
 public:
  Marked(const Lattice& lattice, const SiteFormat& format, Precision precision, int lanes)
      : layout_(lattice.vector_layout(lanes)), field_(desc(lattice, format, precision, lanes)) {}

  Field& field() { return field_; }
  bool norms(int section) const { return section == field_.desc().site.sections; }
  int sections() const { return field_.desc().site.sections + (field_.desc().has_norms() ? 1 : 0); }
  /// Numbers of a section, of which the norms are one.
  int numbers(int section) const { return norms(section) ? 1 : field_.desc().section(); }
  std::size_t number_bytes_of(int section) const { return norms(section) ? 4 : number_bytes(field_.desc().precision); }

  void fill(std::uint64_t seed) {
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      for (std::int64_t slot = 0; slot < layout_.blocks() * layout_.lanes(); ++slot) {
        for (int section = 0; section < sections(); ++section) {
          for (int n = 0; n < numbers(section); ++n) {
            const std::uint64_t bits = bits_of(seed, global_site(p, slot), component(section, n));
            std::memcpy(place(p, slot, section, n), &bits, number_bytes_of(section));
          }
        }
      }
    }
  }
  /// Whether number n of a section in a lane of a block, or of a ghost of `halo`, is that of the site x, wherever it
  /// is.
  bool is(const HaloExchange& halo, Parity p, std::int64_t block, int lane, int section, int n, std::uint64_t seed,
          Dims x) const {
    for (std::size_t mu = 0; mu < 4; ++mu) x[mu] = (x[mu] + divided_dims[mu]) % divided_dims[mu];
    const Dims& g = divided_dims;
    const std::int64_t site = ((std::int64_t(x[3]) * g[2] + x[2]) * g[1] + x[1]) * g[0] + x[0];
    const std::uint64_t wanted = bits_of(seed, site, component(section, n));
    const std::size_t lanes = std::size_t(layout_.lanes()), bytes = number_bytes_of(section);
    const std::byte* found = nullptr;
    if (block < layout_.blocks()) {
      found = const_cast<Marked*>(this)->place(p, block * layout_.lanes() + lane, section, n);
    } else {
      const std::size_t ghost = std::size_t(block - layout_.blocks());
      found = static_cast<const std::byte*>(halo.ghosts(p, section)) +
              ((ghost * std::size_t(numbers(section)) + std::size_t(n)) * lanes + std::size_t(lane)) * bytes;
    }
    return std::memcmp(found, &wanted, bytes) == 0;
  }
  /// Coordinates in the whole lattice.
  Dims coordinates(Parity p, std::int64_t slot) const {
    const Lattice& lattice = field_.lattice();
    Dims x = lattice.coordinates(p, layout_.sites(p)[std::size_t(slot)]);
    for (std::size_t mu = 0; mu < 4; ++mu) x[mu] += lattice.origin()[mu];
    return x;
  }

 private:
  static FieldDesc desc(const Lattice& lattice, const SiteFormat& format, Precision precision, int lanes) {
    FieldDesc desc = FieldDesc::of(format, lattice, Subset::Full, precision);
    desc.layout = Layout{lanes};
    return desc;
  }
  int component(int section, int n) const { return norms(section) ? -1 : section * field_.desc().section() + n; }
  std::int64_t global_site(Parity p, std::int64_t slot) const {
    const Lattice& lattice = field_.lattice();
    return lattice.global_site(lattice.coordinates(p, layout_.sites(p)[std::size_t(slot)]));
  }
  std::byte* place(Parity p, std::int64_t slot, int section, int n) {
    const std::int64_t lanes = layout_.lanes(), block = slot / lanes, lane = slot % lanes;
    if (norms(section)) return reinterpret_cast<std::byte*>(field_.norms(p) + slot);
    const std::int64_t number = (block * field_.desc().components() + component(section, n)) * lanes + lane;
    return static_cast<std::byte*>(field_.numbers(p)) + std::size_t(number) * number_bytes_of(section);
  }

  const VectorLayout& layout_;
  Field field_;
};

struct Case {
  Marked& marked;
  const HaloExchange& halo;
  const VectorLayout& layout;
  std::uint64_t seed;

  /// How many numbers of the sections for which `read` holds a shift in d, then in e unless it is -1, does not find.
  template <class Read>
  std::int64_t missing(int d, int e, const Read& read) const {
    std::int64_t count = 0;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      for (std::int64_t slot = 0; slot < layout.blocks() * layout.lanes(); ++slot) {
        std::int64_t block = slot / layout.lanes();
        int lane = int(slot % layout.lanes());
        Dims x = marked.coordinates(p, slot);
        Parity here = p;
        for (const int step : {d, e}) {
          if (step < 0) continue;
          x[step % 4] += step < 4 ? 1 : -1;
          if ((halo.wraps(here)[block] >> step & 1u) != 0) lane = layout.rotation(step)[std::size_t(lane)];
          block = halo.neighbours(here)[block * 8 + step];
          here = opposite(here);
        }
        for (int section = 0; section < marked.sections(); ++section) {
          for (int n = 0; read(section) && n < marked.numbers(section); ++n)
            count += !marked.is(halo, here, block, lane, section, n, seed, x);
        }
      }
    }
    return count;
  }
};

void every_shift(const Case& now, const std::string& name) {
  const auto all = [](int) { return true; };
  for (int d = 0; d < 8; ++d) {
    EXPECT_EQ(now.missing(d, -1, all), 0) << name << ", shift " << d;
    for (int nu = 0; d < 4 && nu < 4; ++nu) {
      if (nu == d) continue;
      EXPECT_EQ(now.missing(d, nu + 4, [&](int section) { return section == nu && !now.marked.norms(section); }), 0)
          << name << ", " << d << " " << nu;
    }
  }
}

TEST(RankHalo, ShiftsAndCornersFindTheNeighbours) {
  for (const Dims& grid : testing::some_grids(2)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    for (const SiteFormat& format : formats) {
      for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
        // One of the widths for each, another one in every run.
        const int lanes = 1 << testing::shared_seed() % 4;
        if (VectorLayout::fits(lattice.dims(), lanes)) {
          Marked marked(lattice, format, precision, lanes);
          std::vector<SectionHalo> sections;
          for (int s = 0; s < format.sections; ++s) sections.push_back({.corners = s});
          const std::uint64_t seed = testing::shared_seed();
          marked.fill(seed);
          HaloExchange halo(marked.field(), sections);
          const std::string name = std::string(format.name) + ", " + to_string(precision) + ", " +
                                   std::to_string(lanes) + " lanes, " + grid_text(grid);
          const VectorLayout& layout = lattice.vector_layout(lanes);
          every_shift({marked, halo, layout, seed}, name);
          marked.fill(seed + 1);  // the ghosts are still those of before, and then are not
          EXPECT_EQ(Case({marked, halo, layout, seed + 1}).missing(0, -1, [](int) { return true; }) > 0, grid[0] > 1);
          halo.exchange_all();
          every_shift({marked, halo, layout, seed + 1}, name + ", again");
        }
      }
    }
  }
}

TEST(RankHalo, OtherFieldsAreRefused) {
  const Lattice lattice(divided_dims, ranks().communicator(testing::some_grids(1).front()));
  const Field links(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18));
  const Field half(FieldDesc::spinor(lattice, Subset::Even, Precision::Single));
  EXPECT_THROW(HaloExchange(links, std::vector<SectionHalo>(3)), Error);
  EXPECT_THROW(HaloExchange(half, std::vector<SectionHalo>(2)), Error);
}

}  // namespace
}  // namespace quadrille
