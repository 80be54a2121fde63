// Links in the vector layout (core/layout/vector_layout.h) as kernels read them around a block: plain data only.
#pragma once

#include <cstdint>

namespace quadrille {

/// Links and geometry in the layout with `lanes` lanes. Directions: 0..3 forward x..t, 4..7 backward. Blocks from
/// number `blocks` on are ghosts, of links that other ranks update (core/field/halo_exchange.h): they are only read.
struct LinkBlocks {
  void* links[2];                       ///< of four links a site in [block][component][lane], by parity; of other
                                        ///< fields their matrices
  const void* ghosts[2];                ///< [direction of the link][ghost][component][lane]
  std::int64_t blocks, ghost_count;     ///< of a parity
  const std::int32_t* neighbours[2];    ///< [block][8]
  const std::uint8_t* wraps[2];         ///< bit d of a block: a shift in direction d rotates lanes
  const std::int64_t* rotations[8];     ///< [lane] of one such shift
  const std::int64_t* turns[8][8];      ///< [lane] of a shift in the first direction, then in the second
  const std::int64_t* global_sites[2];  ///< [block][lane]
};

}  // namespace quadrille
