// The spin and color contractions of two propagators at one site, compiled once for each instruction set: plain data.
#pragma once

#include "core/simd/of_isa.h"
#include "input/contractions/plane_sums.h"

namespace quadrille {

/// T[a,b,c,d] = sum_{ij} S[ai,bj] conj(S'[ci,dj]) for spins a, c of the sink and b, d of the source.
struct ColorSum {
  int a, b, c, d;
};

/// i^power times a color sum.
struct MesonTerm {
  int sum, power;
};
constexpr int meson_terms = 16;  ///< of a channel

struct MesonProblem {
  const PropagatorBlocks* quark;
  const PropagatorBlocks* antiquark;  ///< the same pointer where it is the same propagator
  const ColorSum* sums;
  int sum_count;
  const MesonTerm* terms;  ///< [channel][meson_terms]; the outputs of a plane are the channels
};

/// Numbers of scratch that a kernel needs.
constexpr int meson_scratch(int lanes, int sum_count) { return 2 * (12 * 24 + sum_count) * lanes; }

/// Null for lanes that the instruction set has no kernels for.
using MesonKernel = void (*)(const MesonProblem&, const Plane&, double* scratch);
QUADRILLE_DECLARE_FOR_ISAS(MesonKernel, meson_kernel, (int lanes))

}  // namespace quadrille
