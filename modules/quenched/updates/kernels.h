// How the dispatcher (updates_cpu.cpp) reaches the update kernels of each instruction set: plain data only.
#pragma once

#include "core/gauge/around/link_blocks.h"
#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::quenched {

/// What the links of a field are made of.
struct LinkNumbers {
  int bytes;    ///< of a number: 8 (double) or 4 (float)
  int numbers;  ///< of a link: 18, or 12 (two rows; core/su3/link_codec.h)
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
  void (*heatbath)(const LinkBlocks&, const SweepPart&, const Blocks&, HeatbathCounts& counts);
  void (*overrelax)(const LinkBlocks&, const SweepPart&, const Blocks&);
  /// Overwrites sums[0..6) with the sums of Re tr P over the sites of a parity, for planes xy, xz, xt, yz, yt, zt.
  void (*planes)(const LinkBlocks&, int parity, std::int64_t begin, std::int64_t end, double* sums);
  /// Makes links SU(3) matrices and returns the largest |change| of a number.
  double (*reunitarize)(const LinkBlocks&, int parity, std::int64_t begin, std::int64_t end);
};

/// The kernels for these links and number of lanes, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(const UpdateKernels*, find_kernels, (const LinkNumbers& of, int lanes))

}  // namespace quadrille::quenched
