// How the dispatcher (updates_cpu.cpp) reaches the update kernels of each instruction set: plain data only.
#pragma once

#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::quenched {

/// What the links of a field are made of.
struct LinkNumbers {
  int bytes;    ///< of a number: 8 (double) or 4 (float)
  int numbers;  ///< of a link: 18, or 12 (two rows; core/su3/link_codec.h)
};

/// Links and geometry in the layout with `lanes` lanes (core/layout/vector_layout.h), as the kernels read them.
/// Directions: 0..3 forward x..t, 4..7 backward. Blocks from number `blocks` on are ghosts, of links that other ranks
/// update (core/field/halo_exchange.h): they are only read.
struct LinkSites {
  void* links[2];                       ///< of four links a site in [block][component][lane], by parity
  const void* ghosts[2];                ///< [direction of the link][ghost][component][lane]
  std::int64_t blocks, ghost_count;     ///< of a parity
  const std::int32_t* neighbours[2];    ///< [block][8]
  const std::uint8_t* wraps[2];         ///< bit d of a block: a shift in direction d rotates lanes
  const std::int64_t* rotations[8];     ///< [lane] of one such shift
  const std::int64_t* turns[8][8];      ///< [lane] of a shift in the first direction, then in the second
  const std::int64_t* global_sites[2];  ///< [block][lane]
};

/// The blocks list[begin] to list[end - 1]; without a list those of the numbers begin to end - 1.
struct Blocks {
  const std::int32_t* list;
  std::int64_t begin, end;
};

/// One update of the links of one direction and parity.
struct SweepPart {
  int direction;
  int parity;
  double spatial_weight;  ///< of spatial planes relative to temporal ones
  double scale;           ///< the weight of a link is exp(scale Re tr(U A)), A with those relative weights
  std::uint64_t seed;
  std::uint32_t stream;
};

/// Attempts of the heatbath to draw an SU(2) matrix, and matrices drawn; those by Creutz's method among them.
struct HeatbathCounts {
  std::int64_t attempts = 0, draws = 0, creutz_attempts = 0, creutz_draws = 0;
};

struct UpdateKernels {
  /// Adds to `counts`.
  void (*heatbath)(const LinkSites&, const SweepPart&, const Blocks&, HeatbathCounts& counts);
  void (*overrelax)(const LinkSites&, const SweepPart&, const Blocks&);
  /// Overwrites sums[0..6) with the sums of Re tr P over the sites of a parity, for planes xy, xz, xt, yz, yt, zt.
  void (*planes)(const LinkSites&, int parity, std::int64_t begin, std::int64_t end, double* sums);
  /// Makes links SU(3) matrices and returns the largest |change| of a number.
  double (*reunitarize)(const LinkSites&, int parity, std::int64_t begin, std::int64_t end);
};

/// The kernels for these links and number of lanes, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(const UpdateKernels*, find_kernels, (const LinkNumbers& of, int lanes))

}  // namespace quadrille::quenched
