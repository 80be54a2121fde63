// The kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/flow/steps/kernels.h"

#include "core/gauge/around/block_surroundings.h"
#include "modules/flow/steps/algebra.h"

namespace quadrille::flow {
inline namespace QUADRILLE_ISA {
namespace {

constexpr int numbers = 18;

/// Calls move(link number, u, staples) for the links that move, which is to change u; then u is written.
template <class T, int V, class Move>
QUADRILLE_INLINE void over_links(const LinkBlocks& from, unsigned directions, int parity, std::int64_t begin,
                                 std::int64_t end, T* to, const Move& move) {
  for (std::int64_t block = begin; block < end; ++block) {
    const BlockSurroundings<T, V, numbers> around(from, parity, block);
    for (int mu = 0; mu < 4; ++mu) {
      Real<T, V> u[numbers];
      const Real<T, V>* const here = around.here(mu);
      for (int n = 0; n < numbers; ++n) u[n] = here[n];
      const std::int64_t link = block * 4 + mu;
      if ((directions >> mu & 1u) != 0) {
        Real<T, V> sum[numbers];
        staples_in<T, V>(sum, around, mu, directions);
        move(link, u, sum);
      }
      auto* const there = reinterpret_cast<Real<T, V>*>(to + link * numbers * V);
      for (int n = 0; n < numbers; ++n) there[n] = u[n];
    }
  }
}

template <class T, int V>
void stage(const LinkBlocks& from, const Stage& stage, int parity, std::int64_t begin, std::int64_t end, T* to, T* y) {
  over_links<T, V>(from, stage.directions, parity, begin, end, to,
                   [&](std::int64_t link, Real<T, V>* u, const Real<T, V>* staples) {
                     flow_link<T, V>(u, reinterpret_cast<Real<T, V>*>(y + link * algebra_numbers * V), staples,
                                     T(stage.z), T(stage.carry));
                   });
}

template <class T, int V>
void project_links(const LinkBlocks& from, const Projection& projection, int parity, std::int64_t begin,
                   std::int64_t end, T* to) {
  over_links<T, V>(from, projection.directions, parity, begin, end, to,
                   [&](std::int64_t, Real<T, V>* u, const Real<T, V>* staples) {
                     smear_link<T, V>(u, staples, T(projection.own), T(projection.staples));
                   });
}

template <int V>
constexpr StepKernels kernels{&stage<double, V>, &project_links<double, V>};

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
