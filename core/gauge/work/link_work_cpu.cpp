// Work on links on the CPU: threads share the items, in the order of memory.
#define QUADRILLE_ISA sites  // one lane: bodies that work on one site
#define QUADRILLE_SCALAR_LANES
#include "core/backend/of_backend.h"
#include "core/gauge/link_tiles.h"
#include "core/gauge/work/link_work_of.h"
#include "core/gauge/work/site_loops.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"

namespace quadrille {

namespace {

constexpr int most_lanes = 64 / int(sizeof(double));

const TileKernels* find_tile_kernels(int lanes) {
  return QUADRILLE_OF_ISA(isa_of_lanes(lanes, Precision::Double), find_tile_kernels)(lanes);
}

/// A block of sites in the vector layout, of links in double with 18 numbers. Item k of both parities' blocks.
class LinkBlock {
 public:
  LinkBlock(const LinkView& links, std::int64_t item) : links_(links) {
    const std::int64_t blocks = count(links) / 2;
    parity_ = item >= blocks ? 1 : 0;
    block_ = item - parity_ * blocks;
    for (int lane = 0; lane < links.lanes; ++lane) {
      places_[lane] = SitePlace(links.extents, parity_, links.site(parity_, int(block_ * links.lanes + lane)));
    }
  }
  static std::int64_t count(const LinkView& links) { return 2 * std::int64_t(links.extents.sites / links.lanes); }

  const SitePlace& place(int lane) const { return places_[lane]; }
  double* tile(int hop) const {
    const int field = hop >= 6 ? 1 : 0;
    const std::int64_t link = block_ * links_.stored[field] + links_.index[hop];
    return static_cast<double*>(links_.numbers[field][parity_]) + link * 18 * links_.lanes;
  }
  /// `squares`: of TileKernels::defects() for the links in direction mu.
  void reduce(MaxLoc* worst, const double* squares, int mu) const {
    for (int n = 0; n < 2; ++n) {
      for (int lane = 0; lane < links_.lanes; ++lane) {
        const double square = squares[n * links_.lanes + lane];
        if (!(square < worst[n].value)) {
          worst[n].reduce(square, site_links::link_number(links_.extents, places_[lane], mu));
        }
      }
    }
  }

 private:
  const LinkView& links_;
  int parity_;
  std::int64_t block_;
  std::array<SitePlace, most_lanes> places_{};
};

struct MeetDefectsOfBlock {
  LinkView links;
  const TileKernels& kernels;

  void operator()(std::int64_t item, MaxLoc* worst) const {
    const LinkBlock block(links, item);
    for (int mu = 0; mu < 4; ++mu) {
      alignas(64) double squares[2 * most_lanes];
      kernels.defects(block.tile(2 * mu), squares);
      block.reduce(worst, squares, mu);
    }
  }
};

/// Every link of a block of `to`; those of backward hops are their neighbours' forward ones.
struct ReadBlock {
  LinkView to;
  ForeignLinks from;
  const TileKernels& kernels;
  bool stream;

  void operator()(std::int64_t item, MaxLoc* worst) const {
    const LinkBlock block(to, item);
    alignas(64) double factors[8][2 * most_lanes];
    alignas(64) double squares[4][2 * most_lanes];
    LinkTile tiles[8];
    int count = 0;
    for (int hop = 0; hop < 8; ++hop) {
      if (!to.holds(hop)) continue;
      const int mu = hop / 2;
      const bool forward = hop % 2 == 0;
      LinkTile& tile = tiles[count];
      tile = {block.tile(hop), {}, from.undoes ? factors[count] : nullptr, forward ? squares[mu] : nullptr};
      for (int lane = 0; lane < to.lanes; ++lane) {
        const SitePlace& here = block.place(lane);
        const SitePlace x = forward ? here : here.neighbour(to.extents, 4 + mu);
        tile.from[lane] = from.link(x, mu);
        if (!from.undoes) continue;
        const Complex factor = from.factor(x, mu);
        factors[count][lane] = factor.real();
        factors[count][to.lanes + lane] = factor.imag();
      }
      ++count;
    }
    kernels.read(tiles, count, from.bits, from.columns, stream);
    for (int mu = 0; mu < 4; ++mu) block.reduce(worst, squares[mu], mu);
  }
};

class CpuLinkWork final : public LinkWorkOf<HostLoops> {
 public:
  std::array<MaxLoc, 2> defects(const LinkView& links) const override {
    const TileKernels* const kernels = kernels_for(links);
    if (kernels == nullptr) return LinkWorkOf<HostLoops>::defects(links);
    return roots(HostLoops::worst<2>(LinkBlock::count(links), MeetDefectsOfBlock{links, *kernels}));
  }
  std::array<MaxLoc, 2> read(const LinkView& to, const ForeignLinks& from) const override {
    const TileKernels* const kernels = from.apart == 0 ? kernels_for(to) : nullptr;
    if (kernels == nullptr) return LinkWorkOf<HostLoops>::read(to, from);
    const std::size_t bytes = std::size_t(to.stored[0] + to.stored[1]) * 2 * std::size_t(to.extents.sites) * 144;
    const bool stream = bytes > cpu_backend().cache_bytes();
    return roots(HostLoops::worst<2>(LinkBlock::count(to), ReadBlock{to, from, *kernels, stream}));
  }

 private:
  static const TileKernels* kernels_for(const LinkView& links) {
    return links.lanes > 0 && is_double_18(links) ? find_tile_kernels(links.lanes) : nullptr;
  }
  static std::array<MaxLoc, 2> roots(std::array<MaxLoc, 2> squares) {
    for (MaxLoc& worst : squares) worst.value = std::sqrt(worst.value);
    return squares;
  }
};

}  // namespace

const LinkWork& link_work_cpu() {
  static const CpuLinkWork work;
  return work;
}

const LinkWork& link_work(const Backend& backend) { return QUADRILLE_OF_BACKEND(backend.name(), link_work)(); }

}  // namespace quadrille
