// Links of a field in the grouped layout as the bodies of site_update.h take them, with ghosts or without.
#pragma once

#include "core/field/field.h"
#include "modules/quenched/updates/grouped_links.h"

#include <array>
#include <vector>

namespace quadrille::quenched {

constexpr int ghost_layers = 2;

inline Extents extents_of(const Dims& dims) { return {dims[0], dims[1], dims[2], dims[3], int(volume(dims) / 2)}; }

/// Of all sites of this rank's part, without ghosts. `whole` has no number of sites: that of many ranks may not fit.
inline GroupedLinks grouped_links(Field& links) {
  const Lattice& lattice = links.lattice();
  const Dims &own = lattice.dims(), &global = lattice.global_dims(), &begin = lattice.origin();
  GroupedLinks all{};
  all.links[0] = links.numbers(Parity::Even);
  all.links[1] = links.numbers(Parity::Odd);
  all.of = {int(number_bytes(links.desc().precision)), int(links.desc().reconstruct)};
  all.x = own[0];
  all.y = own[1];
  all.z = own[2];
  all.t = own[3];
  all.own = extents_of(own);
  all.whole = {global[0], global[1], global[2], global[3], 0};
  all.origin.x = begin[0];
  all.origin.y = begin[1];
  all.origin.z = begin[2];
  all.origin.t = begin[3];
  return all;
}

/// The links of a field on torus_of(..), of which `own` are those that are no ghosts.
inline GroupedLinks with_ghosts(Field& torus, const GroupedLinks& own) {
  GroupedLinks links = grouped_links(torus);
  links.own = own.own;
  links.whole = own.whole;
  links.origin = own.origin;
  return links;
}

using Divided = std::array<bool, 4>;  ///< directions, over ranks

inline Dims torus_of(Dims own, const Divided& divided) {
  for (std::size_t mu = 0; mu < 4; ++mu) own[mu] += divided[mu] ? ghost_layers : 0;
  return own;
}

/// The two layers that leave a rank along an axis, backward and forward, and those that come from its neighbours.
struct GhostAxis {
  int axis;
  std::array<LinkFace, 2> leave, come;
};

/// In the order in which they must travel: layers have the ghosts of the axes before.
inline std::vector<GhostAxis> ghost_axes(const Dims& own, const Divided& divided) {
  std::vector<GhostAxis> all;
  Dims layer = own;
  for (int axis = 0; axis < 4; ++axis) {
    if (!divided[std::size_t(axis)]) continue;
    const int extent = own[std::size_t(axis)];
    Dims sites = layer;
    sites[std::size_t(axis)] = 1;
    const auto face = [&](int at) { return LinkFace{axis, at, extents_of(sites), nullptr}; };
    // What goes backward is the first layer, and comes as what a shift forward finds from the last one.
    all.push_back({axis, {face(0), face(extent - 1)}, {face(extent), face(extent + 1)}});
    layer[std::size_t(axis)] += ghost_layers;
  }
  return all;
}

}  // namespace quadrille::quenched
