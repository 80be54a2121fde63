// Hermitian blocks of each chirality as another program keeps them in its memory, as plain data.
#pragma once

#include "core/layout/site_order.h"

#include <cstddef>
#include <cstdint>

namespace quadrille {

/// For each site of a lattice the matrices of chirality + and -, on [spin 2][color 3] of the upper and of the lower
/// spins in the DeGrand-Rossi basis. `triangles`: the six numbers of the diagonal, then re and im of the fifteen below
/// it, row after row; else all 36 complex numbers, [row][column].
struct ForeignBlocks {
  Extents extents;
  int bits;  ///< of a real number: 64 or 32
  bool triangles;
  SiteOrder order;
  double factor;  ///< multiplies what is read
  const std::byte* array;

  /// Real numbers of one chirality.
  QUADRILLE_HOST_DEVICE int numbers() const { return triangles ? 36 : 72; }
};

}  // namespace quadrille
