#include "core/layout/site_layers.h"

#include "core/error.h"

#include <fmt/format.h>

#include <limits>

namespace quadrille {

Extents extents_of(const Dims& dims) {
  // Room for the last block of threads.
  if (volume(dims) / 2 < std::numeric_limits<int>::max() - 1024)
    return {dims[0], dims[1], dims[2], dims[3], int(volume(dims) / 2)};
  throw Error(ErrorCode::unsupported,
              fmt::format("a rank's part of {} x {} x {} x {} sites, with those of its neighbours, is too large: there "
                          "may be fewer than 2^32; use more ranks",
                          dims[0], dims[1], dims[2], dims[3]));
}

Dims torus_around(const Dims& own, const Divided& divided, int depth) {
  Dims torus = own;
  for (std::size_t mu = 0; mu < 4; ++mu) torus[mu] += divided[mu] ? 2 * depth : 0;
  return torus;
}

std::vector<GhostAxis> ghost_axes(const Dims& own, const Divided& divided, int depth) {
  std::vector<GhostAxis> all;
  Dims torus = own;
  for (int axis = 0; axis < 4; ++axis) {
    if (!divided[std::size_t(axis)]) continue;
    const int extent = own[std::size_t(axis)];
    Dims layer = torus;
    layer[std::size_t(axis)] = 1;
    const auto from = [&](int first) { return SiteLayers{axis, first, depth, extents_of(layer)}; };
    all.push_back({axis, {from(0), from(extent - depth)}, {from(extent), from(extent + depth)}});
    torus[std::size_t(axis)] += 2 * depth;
  }
  return all;
}

}  // namespace quadrille
