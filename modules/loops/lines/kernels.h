// How the dispatcher (lines_cpu.cpp) reaches the kernels of each instruction set: plain data only.
#pragma once

#include "core/gauge/around/link_blocks.h"
#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::loops {

/// A range of the blocks of a parity.
struct BlockRange {
  int parity;
  std::int64_t begin, end;
};

/// Links and fields of one matrix a site, in double with 18 numbers in the vector layout (line_math.h); `to` is
/// overwritten in the range. The sums are over its sites.
struct LineKernels {
  /// to = U_mu(x).
  void (*copy)(const LinkBlocks& links, int mu, const BlockRange& range, double* to);
  /// to = U_nu(x + mu).
  void (*copy_ahead)(const LinkBlocks& links, int mu, int nu, const BlockRange& range, double* to);
  /// to = one(x + mu).
  void (*shift)(const LinkBlocks& one, int mu, const BlockRange& range, double* to);
  /// to = U_mu(x) line(x + mu).
  void (*extend)(const LinkBlocks& links, const LinkBlocks& line, int mu, const BlockRange& range, double* to);
  /// to = U_nu(x) edge(x + nu) side(x)^+; sum = that of Re tr(to line^+).
  void (*lift)(const LinkBlocks& links, const LinkBlocks& edge, const LinkBlocks& side, const LinkBlocks& line, int nu,
               const BlockRange& range, double* to, double* sum);
  /// sums[0..2) = those of re and im of tr one.
  void (*trace)(const LinkBlocks& one, const BlockRange& range, double* sums);
};

/// The kernels for so many lanes, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(const LineKernels*, find_lines, (int lanes))

}  // namespace quadrille::loops
