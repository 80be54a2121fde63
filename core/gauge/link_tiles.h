// Links of the vector layout, a block of sites at a time: what is done on all lanes at once. Plain data: this header is
// compiled for every instruction set.
#pragma once

#include "core/simd/of_isa.h"

namespace quadrille {

/// The links of a block in one direction, double with 18 numbers: [number][lane], aligned to 64 bytes.
struct LinkTile {
  double* links;
  const void* from[8];    ///< by lane: the link in another program's array
  const double* factors;  ///< null, or what multiplies it, [re, im][lane], aligned as links
  double* defects;        ///< null, or the squares of TileKernels::defects(), which are overwritten
};

struct TileKernels {
  /// [0][lane] = the largest |element|^2 of U U^+ - 1 (NaN where a link is not finite), [1][lane] = |det U - 1|^2.
  void (*defects)(const double* links, double* squares);
  /// Fills tiles[0 .. count), whose sources are of `bits` bits a number, [row][column] or, with `columns`, transposed.
  /// `stream`: past the caches.
  void (*read)(const LinkTile* tiles, int count, int bits, bool columns, bool stream);
};

/// Null when this instruction set has none for so many lanes.
QUADRILLE_DECLARE_FOR_ISAS(const TileKernels*, find_tile_kernels, (int lanes))

}  // namespace quadrille
