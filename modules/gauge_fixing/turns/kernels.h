// How the dispatcher (turns_cpu.cpp) reaches the kernels of each instruction set: plain data only.
#pragma once

#include "core/gauge/around/link_blocks.h"
#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::gauge_fixing {

/// Directions of the links in the functional, as bits mu.
constexpr unsigned landau_directions = 0b1111, coulomb_directions = 0b0111;

/// A half sweep: all sites of a parity relax (relaxation.h).
struct Relaxation {
  int parity;
  double omega;
  unsigned directions;
};

/// Links and the transformation g, one matrix a site, in double with 18 numbers in the vector layout.
struct TurnKernels {
  /// g = 1 at the blocks [begin, end).
  void (*start)(std::int64_t begin, std::int64_t end, double* g);
  /// Turns g at the blocks [begin, end); sums[0..3) = the sums of SeenAt.
  void (*relax)(const LinkBlocks& links, const LinkBlocks& turns, const Relaxation& relaxation, std::int64_t begin,
                std::int64_t end, double* g, double* sums);
  /// to = the transformed links of the blocks [begin, end) of a parity.
  void (*transform)(const LinkBlocks& links, const LinkBlocks& turns, int parity, std::int64_t begin, std::int64_t end,
                    double* to);
};

/// The kernels for so many lanes, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(const TurnKernels*, find_turns, (int lanes))

}  // namespace quadrille::gauge_fixing
