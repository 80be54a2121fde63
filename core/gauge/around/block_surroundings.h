// Links around a block of sites in the vector layout: for files compiled once per instruction set.
#pragma once

#include "core/gauge/around/link_blocks.h"
#include "core/gauge/link_lanes.h"

namespace quadrille::link_lanes::inline QUADRILLE_ISA {

/// Over the lanes of a block, in their order.
template <class T, int V>
QUADRILLE_INLINE T sum_of_lanes(Real<T, V> lanes) {
  T sum{};
  for (int i = 0; i < V; ++i) sum += lanes[i];
  return sum;
}

/// Finds links around one block (core/gauge/around/staples.h), or of any field the `matrices` of a site.
template <class T, int V, int numbers, int matrices = 4>
class BlockSurroundings {
 public:
  QUADRILLE_INLINE BlockSurroundings(const LinkBlocks& links, int parity, std::int64_t block)
      : links_(links), parity_(parity), block_(block) {}

  /// Asks for the links that staples() and the update of direction mu will read.
  QUADRILLE_INLINE void prefetch(int mu) const {
    const std::int32_t* next = links_.neighbours[parity_] + block_ * 8;
    const std::int32_t* beyond = links_.neighbours[1 - parity_];
    touch(here(mu));
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      touch(here(nu));
      touch(link(1 - parity_, next[nu], mu));
      touch(link(1 - parity_, next[mu], nu));
      touch(link(1 - parity_, next[nu + 4], mu));
      touch(link(1 - parity_, next[nu + 4], nu));
      touch(link(parity_, beyond[std::int64_t(next[mu]) * 8 + nu + 4], nu));
    }
  }

  /// The link of direction nu at the sites of the block.
  QUADRILLE_INLINE const Real<T, V>* here(int nu) const { return link(parity_, block_, nu); }
  QUADRILLE_INLINE const Real<T, V>* here(int nu, Real<T, V>*) const { return here(nu); }

  /// The same after a shift by one site in direction d: in place, or in `buffer` where lanes rotate.
  QUADRILLE_INLINE const Real<T, V>* shifted(int d, int nu, Real<T, V>* buffer) const {
    const Real<T, V>* from = link(1 - parity_, links_.neighbours[parity_][block_ * 8 + d], nu);
    return wraps(parity_, block_, d) ? rotated(from, links_.rotations[d], buffer) : from;
  }

  /// The same after shifts in the directions d and e.
  QUADRILLE_INLINE const Real<T, V>* shifted(int d, int e, int nu, Real<T, V>* buffer) const {
    const std::int64_t middle = links_.neighbours[parity_][block_ * 8 + d];
    const Real<T, V>* from = link(parity_, links_.neighbours[1 - parity_][middle * 8 + e], nu);
    const bool first = wraps(parity_, block_, d), second = wraps(1 - parity_, middle, e);
    if (!first && !second) return from;
    return rotated(from, first && second ? links_.turns[d][e] : links_.rotations[first ? d : e], buffer);
  }

 private:
  QUADRILLE_INLINE const Real<T, V>* link(int parity, std::int64_t block, int nu) const {
    const bool here = block < links_.blocks;
    const T* const from = static_cast<const T*>(here ? links_.links[parity] : links_.ghosts[parity]);
    const std::int64_t number = here ? block * matrices + nu : nu * links_.ghost_count + block - links_.blocks;
    return reinterpret_cast<const Real<T, V>*>(from + number * numbers * V);
  }
  static QUADRILLE_INLINE void touch(const Real<T, V>* link) {
    const char* bytes = reinterpret_cast<const char*>(link);
    for (std::size_t line = 0; line < numbers * sizeof(Real<T, V>); line += 64) __builtin_prefetch(bytes + line);
  }
  QUADRILLE_INLINE bool wraps(int parity, std::int64_t block, int d) const {
    return (links_.wraps[parity][block] >> d & 1u) != 0;
  }
  static QUADRILLE_INLINE const Real<T, V>* rotated(const Real<T, V>* from, const std::int64_t* lanes,
                                                    Real<T, V>* buffer) {
    simd::Vec<simd::IntOf<T>, V> mask;
    for (int i = 0; i < V; ++i) mask[i] = simd::IntOf<T>(lanes[i]);
    for (int n = 0; n < numbers; ++n) buffer[n] = simd::permute<T, V>(from[n], mask);
    return buffer;
  }

  const LinkBlocks& links_;
  int parity_;
  std::int64_t block_;
};

}  // namespace quadrille::link_lanes::inline QUADRILLE_ISA
