// Layers of sites at right angles to an axis: what a rank's neighbours need of it, as plain data.
#pragma once

#include "core/api.h"
#include "core/dims.h"
#include "core/host_device.h"
#include "core/layout/site_place.h"

#include <array>
#include <vector>

namespace quadrille {

/// ErrorCode::unsupported for 2^32 sites or more, which those who use Extents cannot count.
QUADRILLE_API Extents extents_of(const Dims& dims);

/// The sites of one parity in `depth` layers that follow each other along an axis of a torus.
struct SiteLayers {
  int axis, first, depth;  ///< first <= x[axis] < first + depth
  Extents layer;           ///< of one layer; 1 along the axis

  QUADRILLE_HOST_DEVICE int items() const { return depth * layer.sites; }
  /// Of item [0, items()): the same item of layers whose `first` differ by an even number finds the same other
  /// coordinates.
  QUADRILLE_HOST_DEVICE SitePlace place(int parity, int item) const {
    const int which = item / layer.sites;
    const int extents[4] = {layer.x, layer.y, layer.z, layer.t};
    const int paired = axis == 0 ? 1 : 0;  // of two sites that differ in this coordinate alone one has the parity
    int x[4] = {}, sum = first + which;
    x[axis] = first + which;
    const int in_layer = item - which * layer.sites;
    int rest = in_layer / (extents[paired] / 2);
    const int half = in_layer - rest * (extents[paired] / 2);
    for (int mu = paired + 1; mu < 4; ++mu) {
      if (mu == axis) continue;
      x[mu] = rest % extents[mu];
      rest /= extents[mu];
      sum += x[mu];
    }
    x[paired] = 2 * half + ((sum + parity) & 1);
    SitePlace place;
    place.x = x[0];
    place.y = x[1];
    place.z = x[2];
    place.t = x[3];
    return place;
  }
};

using Divided = std::array<bool, 4>;  ///< directions, over ranks

/// The torus of a rank's part with ghosts: 2 * depth sites longer where it is divided. The first `depth` of them follow
/// the part as shifts forward find them, the others are those that shifts backward find from its first sites.
QUADRILLE_API Dims torus_around(const Dims& own, const Divided& divided, int depth);

/// The layers that leave a rank along an axis, backward and forward, and those that come instead from its neighbours
/// forward and backward.
struct GhostAxis {
  int axis;
  std::array<SiteLayers, 2> leave, come;
};

/// In the order in which they must travel: layers have the ghosts of the axes before, and so all corners come.
QUADRILLE_API std::vector<GhostAxis> ghost_axes(const Dims& own, const Divided& divided, int depth);

}  // namespace quadrille
