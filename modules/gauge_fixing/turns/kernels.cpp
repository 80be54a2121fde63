// The kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/gauge_fixing/turns/kernels.h"

#include "core/gauge/around/block_surroundings.h"
#include "modules/gauge_fixing/turns/relaxation.h"

namespace quadrille::gauge_fixing {
inline namespace QUADRILLE_ISA {
namespace {

using T = double;
template <int V>
using Links = BlockSurroundings<T, V, 18>;
template <int V>
using Turns = BlockSurroundings<T, V, 18, 1>;

template <int V>
Real<T, V>* matrix_at(double* numbers, std::int64_t number) {
  return reinterpret_cast<Real<T, V>*>(numbers + number * 18 * V);
}

template <int V>
void start(std::int64_t begin, std::int64_t end, double* g) {
  for (std::int64_t block = begin; block < end; ++block) {
    Real<T, V>* const here = matrix_at<V>(g, block);
    for (int n = 0; n < 18; ++n) here[n] = Real<T, V>{} + T(n % 8 == 0 ? 1 : 0);
  }
}

template <int V>
void relax_blocks(const LinkBlocks& links, const LinkBlocks& turns, const Relaxation& relaxation, std::int64_t begin,
                  std::int64_t end, double* g, double* sums) {
  SeenAt<T, V> all{};
  for (std::int64_t block = begin; block < end; ++block) {
    Real<T, V>* const there = matrix_at<V>(g, block);
    Real<T, V> here[18], m[18];
    for (int n = 0; n < 18; ++n) here[n] = there[n];
    functional_matrix<T, V>(m, here, Links<V>(links, relaxation.parity, block),
                            Turns<V>(turns, relaxation.parity, block), relaxation.directions);
    const SeenAt<T, V> seen = relax<T, V>(here, m, relaxation.omega);
    for (int n = 0; n < 18; ++n) there[n] = here[n];
    all.functional += seen.functional;
    all.before += seen.before;
    all.after += seen.after;
  }
  sums[0] = sum_of_lanes<T, V>(all.functional);
  sums[1] = sum_of_lanes<T, V>(all.before);
  sums[2] = sum_of_lanes<T, V>(all.after);
}

template <int V>
void transform(const LinkBlocks& links, const LinkBlocks& turns, int parity, std::int64_t begin, std::int64_t end,
               double* to) {
  for (std::int64_t block = begin; block < end; ++block) {
    for (int mu = 0; mu < 4; ++mu) {
      transformed_link<T, V>(matrix_at<V>(to, block * 4 + mu), Links<V>(links, parity, block),
                             Turns<V>(turns, parity, block), mu);
    }
  }
}

template <int V>
constexpr TurnKernels kernels{&start<V>, &relax_blocks<V>, &transform<V>};

/// Of full registers, and of the fewer lanes that smaller or uneven parts of a lattice can be cut into.
template <int V = QUADRILLE_ISA_BYTES / int(sizeof(T))>
const TurnKernels* of_lanes(int lanes) {
  if (lanes == V) return &kernels<V>;
  if constexpr (V > 1) return of_lanes<(V > 2 ? V / 2 : 1)>(lanes);
  return nullptr;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

const TurnKernels* QUADRILLE_JOIN(find_turns_, QUADRILLE_ISA)(int lanes) { return of_lanes(lanes); }

}  // namespace quadrille::gauge_fixing
