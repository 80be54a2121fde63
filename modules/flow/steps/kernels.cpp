// The kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/flow/steps/kernels.h"

#include "core/gauge/around/block_surroundings.h"
#include "modules/flow/steps/algebra.h"
#include "modules/flow/steps/rectangles.h"

namespace quadrille::flow {
inline namespace QUADRILLE_ISA {
namespace {

constexpr int numbers = 18;

/// Calls move(block, mu, links around, u) for the links that move, which is to change u; then u is written.
template <class T, int V, class Move>
QUADRILLE_INLINE void over_links(const LinkBlocks& from, unsigned directions, int parity, std::int64_t begin,
                                 std::int64_t end, T* to, const Move& move) {
  for (std::int64_t block = begin; block < end; ++block) {
    const BlockSurroundings<T, V, numbers> around(from, parity, block);
    for (int mu = 0; mu < 4; ++mu) {
      Real<T, V> u[numbers];
      const Real<T, V>* const here = around.here(mu);
      for (int n = 0; n < numbers; ++n) u[n] = here[n];
      if ((directions >> mu & 1u) != 0) move(block, mu, around, u);
      auto* const there = reinterpret_cast<Real<T, V>*>(to + (block * 4 + mu) * numbers * V);
      for (int n = 0; n < numbers; ++n) there[n] = u[n];
    }
  }
}

template <class T, int V>
void stage(const LinkBlocks& from, const Stage& stage, int parity, std::int64_t begin, std::int64_t end, T* to, T* y) {
  over_links<T, V>(from, stage.directions, parity, begin, end, to,
                   [&](std::int64_t block, int mu, const auto& around, Real<T, V>* u) {
                     Real<T, V> staples[numbers];
                     staples_in<T, V>(staples, around, mu, stage.directions);
                     flow_link<T, V>(u, reinterpret_cast<Real<T, V>*>(y + (block * 4 + mu) * algebra_numbers * V),
                                     staples, T(stage.z), T(stage.carry));
                   });
}

/// A field of links for each direction, around one block.
template <class T, int V>
struct BlockStaples {
  const LinkBlocks* const* fields;
  int parity;
  std::int64_t block;

  QUADRILLE_INLINE BlockSurroundings<T, V, numbers> at(int k) const { return {*fields[k], parity, block}; }
};

template <class T, int V>
void stage_with_rectangles(const LinkBlocks& from, const LinkBlocks* const ahead[4], const LinkBlocks* const behind[4],
                           const Stage& stage, int parity, std::int64_t begin, std::int64_t end, T* to, T* y) {
  using Staples = BlockStaples<T, V>;
  over_links<T, V>(from, stage.directions, parity, begin, end, to,
                   [&](std::int64_t block, int mu, const auto& around, Real<T, V>* u) {
                     Real<T, V> sides[numbers];
                     weighted_sides<T, V>(sides, around, Staples{ahead, parity, block}, Staples{behind, parity, block},
                                          mu, T(stage.plaquette), T(stage.rectangle));
                     flow_link<T, V>(u, reinterpret_cast<Real<T, V>*>(y + (block * 4 + mu) * algebra_numbers * V),
                                     sides, T(stage.z), T(stage.carry));
                   });
}

template <class T, int V>
void staple_links(const LinkBlocks& from, int nu, bool behind, int parity, std::int64_t begin, std::int64_t end,
                  T* to) {
  over_links<T, V>(
      from, all_directions & ~(1u << nu), parity, begin, end, to,
      [&](std::int64_t, int mu, const auto& around, Real<T, V>* u) { staple_beside<T, V>(u, around, mu, nu, behind); });
}

template <class T, int V>
void project_links(const LinkBlocks& from, const Projection& projection, int parity, std::int64_t begin,
                   std::int64_t end, T* to) {
  over_links<T, V>(from, projection.directions, parity, begin, end, to,
                   [&](std::int64_t, int mu, const auto& around, Real<T, V>* u) {
                     Real<T, V> staples[numbers];
                     staples_in<T, V>(staples, around, mu, projection.directions);
                     smear_link<T, V>(u, staples, T(projection.own), T(projection.staples));
                   });
}

template <class T, int V>
void hyp_links(const LinkBlocks& from, const LinkBlocks* const before[4], const HypLevel& level, int parity,
               std::int64_t begin, std::int64_t end, T* to) {
  over_links<T, V>(
      from, level.directions, parity, begin, end, to, [&](std::int64_t block, int mu, const auto&, Real<T, V>* u) {
        Real<T, V> staples[numbers];
        const auto around = [&](int k) { return BlockSurroundings<T, V, numbers>(*before[k], parity, block); };
        level_staples<T, V>(staples, around, level, mu);
        smear_link<T, V>(u, staples, T(level.own), T(level.staples));
      });
}

template <int V>
constexpr StepKernels kernels{&stage<double, V>, &stage_with_rectangles<double, V>, &staple_links<double, V>,
                              &project_links<double, V>, &hyp_links<double, V>};

/// Of full registers, and of the fewer lanes that smaller or uneven parts of a lattice can be cut into.
template <int V = QUADRILLE_ISA_BYTES / int(sizeof(double))>
const StepKernels* of_lanes(int lanes) {
  if (lanes == V) return &kernels<V>;
  if constexpr (V > 1) return of_lanes<(V > 2 ? V / 2 : 1)>(lanes);
  return nullptr;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

const StepKernels* QUADRILLE_JOIN(find_steps_, QUADRILLE_ISA)(int lanes) { return of_lanes(lanes); }

}  // namespace quadrille::flow
