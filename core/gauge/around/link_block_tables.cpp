#include "core/gauge/around/link_block_tables.h"

#include "core/field/field.h"
#include "core/layout/vector_layout.h"

#include <algorithm>
#include <cstddef>

namespace quadrille {
namespace {

const VectorLayout& layout_of(const Field& links) { return links.lattice().vector_layout(links.desc().layout.lanes); }

}  // namespace

std::vector<SectionHalo> staple_halo() {
  std::vector<SectionHalo> links;
  for (int mu = 0; mu < 4; ++mu) links.push_back({.faces = std::uint8_t(0xff & ~(1 << mu)), .corners = mu});
  return links;
}

Isa isa_of_links(const FieldDesc& links) {
  return std::max(active_isa(), isa_of_lanes(links.layout.lanes, links.precision));
}

LinkBlockTables::LinkBlockTables(Field& links, const HaloExchange* halo) {
  const VectorLayout& layout = layout_of(links);
  blocks_.blocks = layout.blocks();
  blocks_.ghost_count = halo != nullptr ? halo->ghost_count() : 0;
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    const int k = int(p);
    blocks_.links[k] = links.numbers(p);
    blocks_.ghosts[k] = halo != nullptr ? halo->ghosts(p) : nullptr;
    blocks_.neighbours[k] = halo != nullptr ? halo->neighbours(p) : layout.neighbours(p).data();
    blocks_.wraps[k] = halo != nullptr ? halo->wraps(p) : layout.wraps(p).data();
  }
  tabulate_rotations(links);
  tabulate_sites(links);
}

void LinkBlockTables::tabulate_rotations(const Field& links) {
  const VectorLayout& layout = layout_of(links);
  const auto lanes = std::size_t(layout.lanes());
  rotations_.resize((8 + 64) * lanes);
  for (int d = 0; d < 8; ++d) {
    std::int64_t* one = rotations_.data() + std::size_t(d) * lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) one[lane] = layout.rotation(d)[lane];
    blocks_.rotations[d] = one;
    for (int e = 0; e < 8; ++e) {
      std::int64_t* both = rotations_.data() + std::size_t(8 + 8 * d + e) * lanes;
      for (std::size_t lane = 0; lane < lanes; ++lane)
        both[lane] = layout.rotation(e)[std::size_t(layout.rotation(d)[lane])];
      blocks_.turns[d][e] = both;
    }
  }
}

void LinkBlockTables::tabulate_sites(const Field& links) {
  const Lattice& lattice = links.lattice();
  const VectorLayout& layout = layout_of(links);
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    auto& global = global_sites_[std::size_t(p)];
    global.resize(std::size_t(lattice.half_volume()));
    for (std::int64_t index = 0; index < lattice.half_volume(); ++index) {
      const std::int32_t slot = layout.slots(p)[std::size_t(index)];
      global[std::size_t(slot)] = lattice.global_site(lattice.coordinates(p, index));
    }
    blocks_.global_sites[int(p)] = global.data();
  }
}

}  // namespace quadrille
