// How the numbers of a site lie in memory: the two families of layouts as plain data.
#pragma once

#include "core/dims.h"
#include "core/numbers/precision.h"

#include <cstdint>

namespace quadrille {

/// Vector layout (width 0): [block][component][lane], for CPUs; core/layout/vector_layout.h.
/// Grouped layout (width > 0): [block][group][site in block][number in group], for devices;
/// core/layout/grouped_layout.h.
struct Layout {
  static constexpr int block = 64;  ///< sites of a block of the grouped layout
  int lanes = 1;                    ///< of the vector layout
  int width = 0;                    ///< of the grouped layout: numbers of a whole group

  bool grouped() const { return width > 0; }
  int sites_together() const { return grouped() ? block : lanes; }  ///< of a block of either layout
  /// Sites stored for each parity that has `half_volume` of them.
  std::int64_t sites(std::int64_t half_volume) const {
    return grouped() ? (half_volume + block - 1) / block * block : half_volume;
  }

  bool operator==(const Layout&) const = default;
};

}  // namespace quadrille
