// How the numbers of a site lie in memory: the two families of layouts as plain data.
#pragma once

#include "core/host_field.h"
#include "core/precision.h"

#include <cstdint>

namespace quadrille {

/// Vector layout (width 0): [block][component][lane], for CPUs; core/layout/vector_layout.h.
/// Grouped layout (width > 0): [group][site][number in group], for devices; core/layout/grouped_layout.h.
struct Layout {
  int lanes = 1;            ///< of the vector layout
  int width = 0;            ///< of the grouped layout: numbers of a group
  std::int64_t stride = 0;  ///< of the grouped layout: sites from one group to the next

  bool grouped() const { return width > 0; }
  /// Numbers stored for a site that has `components` of them.
  int stored(int components) const { return grouped() ? (components + width - 1) / width * width : components; }
  /// Sites stored for each parity that has `half_volume` of them.
  std::int64_t sites(std::int64_t half_volume) const { return grouped() ? stride : half_volume; }

  bool operator==(const Layout&) const = default;
};

}  // namespace quadrille
