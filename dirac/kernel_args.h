// What a dslash kernel is given. Plain data: this header is compiled for every instruction set.
#pragma once

#include "kernel_terms.h"

#include <cstdint>

namespace quadrille::dirac {

/// The fields of one call of a list.
struct DslashFields {
  void* out;
  float* out_norms;  ///< half precision only, as the other norms
  const void* in;
  const float* in_norms;
  const void* z;  ///< null: no xpay term
  const float* z_norms;
  const void* ghosts[8];  ///< of each direction [place][12][lane]: projected half spinors of another rank
  const float* ghost_norms[8];
};

/// out = L (b D in) (+ R z) on one parity for every call of a list, with the site-local L and R of codegen/terms.py.
/// Numbers are in the kernel's storage format; the layout is that of core/layout/vector_layout.h. `in` lies on the
/// other parity; out must not overlap in, and may be z.
struct DslashArgs {
  const DslashFields* calls;
  int count;                       ///< of calls; a block's links come from memory for the first
  const void* spatial_links;       ///< of the output's sites, with directions hops::spatial
  const void* time_links;          ///< of the output's sites, with directions hops::time
  const std::int32_t* blocks;      ///< the blocks to work on; null: those from begin to end
  const std::uint8_t* outside;     ///< [block], bit d: the neighbour in direction d is another rank's; null: none is
  const std::int32_t* neighbours;  ///< [block][direction 0..7]: a block, or outside of this rank a place in ghosts
  const std::uint8_t* wraps;  ///< [block], bit d: direction d crosses the edge of the sub-lattices or needs a phase
  const void* rotations[8];   ///< lane permutation of each direction: V integers of the compute type's size
  const void* phases[8];      ///< boundary factor of each direction: V real parts, then V imaginary parts
  KernelTerms terms;          ///< of the family of operators: L, R and the coefficients of the hops
  int upper, lower;           ///< first number of spins 0, 1 and of 2, 3: (0, 12), or (12, 0) for the dagger
  bool stream;                ///< the result goes past the caches
  bool temporal_gauge;        ///< time links are 1 wherever direction t does not wrap
};

/// out[place][12][lane]: what hops in `direction` from another rank find at the blocks [place] of a list.
struct PackArgs {
  void* out;
  float* out_norms;  ///< half precision only, as the other norms
  const void* in;
  const float* in_norms;
  const std::int32_t* blocks;
  int direction;
  int upper, lower;  ///< as in DslashArgs
};

using PackKernel = void (*)(const PackArgs& args, int lanes, std::int64_t begin, std::int64_t end);
using DslashKernel = void (*)(const DslashArgs& args, int lanes, std::int64_t begin, std::int64_t end);

}  // namespace quadrille::dirac
