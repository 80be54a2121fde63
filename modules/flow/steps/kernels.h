// How the dispatcher (steps_cpu.cpp) reaches the kernels of each instruction set: plain data only.
#pragma once

#include "core/gauge/around/link_blocks.h"
#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::flow {

/// Sets of directions, as bits mu: of links that move and of the planes of their staples; other links stay.
constexpr unsigned all_directions = 0b1111, spatial_directions = 0b0111;

/// A stage of the integrator, or a step of stout smearing: y = - z P(U A) + carry y, U = exp(y) U (algebra.h), A the
/// sum of the staples.
struct Stage {
  double z, carry = 0;
  unsigned directions = all_directions;
  double plaquette = 1, rectangle = 0;  ///< weights of staples, and of the sides of rectangles (rectangles.h)
};

/// A step of APE smearing: U = the SU(3) matrix nearest to own U + staples A^+.
struct Projection {
  double own, staples;
  unsigned directions = all_directions;
};

/// A level of HYP smearing (hyp_levels.h): U = the SU(3) matrix nearest to own U + staples A^+, A the sum of the
/// staples of level_staples() (algebra.h), of links of the level before.
struct HypLevel {
  int level;     ///< 1 to 3
  int excluded;  ///< the direction that is left out; 4: none
  double own, staples;
  unsigned directions;  ///< of the links that move
};

/// Links in double with 18 numbers in the vector layout: read from `from`, of whose blocks of a parity those from begin
/// to end are written to `to`, [block][direction][18][lane]. y: [block][direction][8][lane], overwritten.
struct StepKernels {
  void (*stage)(const LinkBlocks& from, const Stage& stage, int parity, std::int64_t begin, std::int64_t end,
                double* to, double* y);
  /// The same with the sides of rectangles. `ahead`, `behind`: made by staples(), by nu.
  void (*stage_with_rectangles)(const LinkBlocks& from, const LinkBlocks* const ahead[4],
                                const LinkBlocks* const behind[4], const Stage& stage, int parity, std::int64_t begin,
                                std::int64_t end, double* to, double* y);
  /// to = staple_beside() of the links of all directions but nu, which stay as they are.
  void (*staples)(const LinkBlocks& from, int nu, bool behind, int parity, std::int64_t begin, std::int64_t end,
                  double* to);
  void (*project)(const LinkBlocks& from, const Projection& projection, int parity, std::int64_t begin,
                  std::int64_t end, double* to);
  /// `before`: the four fields of the level before, by their excluded direction; `from` are the links that are smeared.
  void (*hyp)(const LinkBlocks& from, const LinkBlocks* const before[4], const HypLevel& level, int parity,
              std::int64_t begin, std::int64_t end, double* to);
};

/// The kernels for so many lanes, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(const StepKernels*, find_steps, (int lanes))

}  // namespace quadrille::flow
