// The kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/flow/steps/kernels.h"

#include "core/gauge/around/block_surroundings.h"
#include "core/gauge/around/staples.h"
#include "modules/flow/steps/algebra.h"

namespace quadrille::flow {
inline namespace QUADRILLE_ISA {
namespace {

constexpr int numbers = 18;

template <class T, int V>
void stage(const LinkBlocks& from, const Stage& stage, int parity, std::int64_t begin, std::int64_t end, T* to, T* y) {
  for (std::int64_t block = begin; block < end; ++block) {
    const BlockSurroundings<T, V, numbers> around(from, parity, block);
    for (int mu = 0; mu < 4; ++mu) {
      Real<T, V> sum[18], u[18];
      staples<T, V, numbers>(sum, around, mu, T(1));
      const Real<T, V>* const here = around.here(mu);
      for (int n = 0; n < 18; ++n) u[n] = here[n];
      const std::int64_t link = block * 4 + mu;
      flow_link<T, V>(u, reinterpret_cast<Real<T, V>*>(y + link * algebra_numbers * V), sum, T(stage.z),
                      T(stage.carry));
      auto* const there = reinterpret_cast<Real<T, V>*>(to + link * numbers * V);
      for (int n = 0; n < 18; ++n) there[n] = u[n];
    }
  }
}

/// Of full registers, and of the fewer lanes that smaller or uneven parts of a lattice can be cut into.
template <int V = QUADRILLE_ISA_BYTES / int(sizeof(double))>
StageKernel of_lanes(int lanes) {
  if (lanes == V) return &stage<double, V>;
  if constexpr (V > 1) return of_lanes<(V > 2 ? V / 2 : 1)>(lanes);
  return nullptr;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

StageKernel QUADRILLE_JOIN(find_stage_, QUADRILLE_ISA)(int lanes) { return of_lanes(lanes); }

}  // namespace quadrille::flow
