// The interactions of V particles i with all j: one source for V lanes of a CPU's vectors and for a thread of a device.
//
// f(i, j) = -f(j, i) bit for bit: each operation is rounded as it is written, and the same for both; the difference of
// the positions is taken before the image is shifted.
#pragma once

#include "core/accumulators/policies.h"
#include "modules/md/pairs/pair_problem.h"

/// Before a loop over lanes that is not worth its size when it is unrolled.
#ifdef __CUDACC__
#define QUADRILLE_ROLLED
#else
#define QUADRILLE_ROLLED _Pragma("GCC unroll 1")
#endif

namespace quadrille::md::inline QUADRILLE_ISA {

using simd::Vec;

template <class T, int V>
QUADRILLE_INLINE Vec<T, V> load(const T* unaligned) {
  Vec<T, V> v;
  __builtin_memcpy(&v, unaligned, sizeof v);
  return v;
}

/// V numbers lane by lane, on their way into a vector or out of it.
template <class T, int V>
struct Lanes {
  T at[V] = {};

  QUADRILLE_INLINE Vec<T, V> vector() const { return load<T, V>(at); }
};

/// How a device finds reciprocals in float: to about a unit of the last place, or correctly rounded as CPUs do, for two
/// operations more. In double, and on CPUs, they always are: with AVX-512 a division takes no longer than an estimate
/// with a step of Newton's, since the other operations hide it.
enum class Reciprocals { estimated, rounded };

/// 1 / v of v > 0.
template <Reciprocals way, class T, int V>
QUADRILLE_INLINE Vec<T, V> inverse(Vec<T, V> v) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4) {
    float result;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
    // Newton's step from there rounds correctly, as in __frcp_rn, whose branches for subnormal numbers are not needed.
    if constexpr (way == Reciprocals::rounded) result = __fmaf_rn(__fmaf_rn(-v, result, 1.0f), result, result);
    return result;
  }
  return __drcp_rn(v);
#else
  return T(1) / v;
#endif
}

/// 1 / sqrt(v) of v > 0; rounded: the reciprocal of the rounded root.
template <Reciprocals way, class T, int V>
QUADRILLE_INLINE Vec<T, V> inverse_root(Vec<T, V> v) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(T) == 4 && way == Reciprocals::rounded) return inverse<way, T, V>(__fsqrt_rn(v));
  if constexpr (sizeof(T) == 4) {
    float result;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(v));
    return result;
  }
  return __drcp_rn(__dsqrt_rn(v));
#else
  return T(1) / simd::sqrt<T, V>(v);
#endif
}

/// Halves to even; |v| < 2^22 (float), 2^51 (double).
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> nearest_whole(Vec<T, V> v) {
  const Vec<T, V> magic = simd::broadcast<T, V>(sizeof(T) == 4 ? T(0x1.8p23) : T(0x1.8p52));
  return rounded::difference(rounded::sum(v, magic), magic);
}

/// What two types, or two particles with parameters of their own, have between them.
template <class T, int V>
struct Parameters {
  Vec<T, V> force12, force6, energy12, energy6;
};

template <class T, int V>
struct Separation {
  Vec<T, V> x, y, z, squared;
};

/// Of the particles i and j; force is p times the separation.
template <class T, int V>
struct Interaction {
  Vec<T, V> p, energy;
};

template <bool periodic, class T, int V>
QUADRILLE_INLINE Separation<T, V> separation(const PairProblem<T>& problem, const Vec<T, V> (&i)[3],
                                             const Vec<T, V> (&j)[3]) {
  Vec<T, V> d[3];
  QUADRILLE_UNROLL
  for (int k = 0; k < 3; ++k) {
    d[k] = rounded::difference(i[k], j[k]);
    if constexpr (periodic) {
      const Vec<T, V> images =
          nearest_whole<T, V>(rounded::product(d[k], simd::broadcast<T, V>(problem.inverse_edges[k])));
      d[k] = rounded::fused<T, V>(-images, simd::broadcast<T, V>(problem.edges[k]), d[k]);
    }
  }
  const Vec<T, V> squared =
      rounded::fused<T, V>(d[0], d[0], rounded::fused<T, V>(d[1], d[1], rounded::product(d[2], d[2])));
  return {d[0], d[1], d[2], squared};
}

/// `charges` is q_i q_j times the constant; `field` whether the reaction field acts.
template <bool coulomb, bool energy, class T, int V, Reciprocals way = Reciprocals::estimated>
QUADRILLE_INLINE Interaction<T, V> interaction(const PairProblem<T>& problem, Vec<T, V> squared,
                                               const Parameters<T, V>& of, Vec<T, V> charges, bool field) {
  Vec<T, V> inverse_squared, inverse_distance{};
  if constexpr (coulomb) {
    inverse_distance = inverse_root<way, T, V>(squared);
    inverse_squared = rounded::product(inverse_distance, inverse_distance);
  } else {
    inverse_squared = inverse<way, T, V>(squared);
  }
  const Vec<T, V> sixth = rounded::product(rounded::product(inverse_squared, inverse_squared), inverse_squared);
  Vec<T, V> p = rounded::product(sixth, rounded::fused<T, V>(of.force12, sixth, of.force6));
  if constexpr (coulomb) p = rounded::fused<T, V>(charges, inverse_distance, p);
  p = rounded::product(p, inverse_squared);
  if constexpr (coulomb) {
    if (field) p = rounded::fused<T, V>(charges, simd::broadcast<T, V>(problem.minus_two_krf), p);
  }
  Vec<T, V> u{};
  if constexpr (energy) {
    u = rounded::product(sixth, rounded::fused<T, V>(of.energy12, sixth, of.energy6));
    if constexpr (coulomb) {
      Vec<T, V> v = inverse_distance;
      if (field) {
        v = rounded::sum(rounded::fused<T, V>(squared, simd::broadcast<T, V>(problem.krf), v),
                         simd::broadcast<T, V>(problem.minus_crf));
      }
      u = rounded::fused<T, V>(rounded::product(charges, simd::broadcast<T, V>(problem.energy_scale)), v, u);
    }
  }
  return {p, u};
}

/// The sums of V particles.
template <class Sum, int V, bool energy>
struct BlockSums {
  using T = typename Sum::Real;
  static constexpr int sums_count = energy ? all_sums : force_sums;

  Sum sums[sums_count];
  Vec<float, V> worst_ratio, worst_energy;

  QUADRILLE_INLINE void clear() {
    QUADRILLE_UNROLL
    for (Sum& sum : sums) sum.clear();
    worst_ratio = worst_energy = decltype(worst_ratio){};
  }

  QUADRILLE_INLINE void add(const PairProblem<T>& problem, const Separation<T, V>& d, const Interaction<T, V>& pair) {
    sums[0].add(rounded::product(pair.p, d.x));
    sums[1].add(rounded::product(pair.p, d.y));
    sums[2].add(rounded::product(pair.p, d.z));
    if constexpr (Sum::fixed) worst_ratio = rounded::larger_magnitude<V>(pair.p, worst_ratio);
    if constexpr (energy) {
      const Vec<T, V> p = rounded::product(pair.p, simd::broadcast<T, V>(problem.energy_scale));
      const Vec<T, V> fx = rounded::product(p, d.x), fy = rounded::product(p, d.y);
      sums[3].add(pair.energy);
      sums[4].add(rounded::product(fx, d.x));
      sums[5].add(rounded::product(fx, d.y));
      sums[6].add(rounded::product(fx, d.z));
      sums[7].add(rounded::product(fy, d.y));
      sums[8].add(rounded::product(fy, d.z));
      sums[9].add(rounded::product(rounded::product(p, d.z), d.z));
      if constexpr (Sum::fixed) {
        worst_energy = rounded::larger_magnitude<V>(pair.energy, worst_energy);
        worst_energy = rounded::larger_magnitude<V>(rounded::product(p, d.squared), worst_energy);
      }
    }
  }

  QUADRILLE_INLINE void carry(int terms) {
    QUADRILLE_UNROLL
    for (Sum& sum : sums) sum.carry(terms);
  }

  QUADRILLE_INLINE void store(const PairSums& out, std::int64_t first) const {
    QUADRILLE_ROLLED
    for (int lane = 0; lane < V; ++lane) {
      const std::int64_t slot = first + lane;
      std::uint8_t strayed = 0;
      QUADRILLE_UNROLL QUADRILLE_ROLLED for (int k = 0; k < sums_count; ++k) {
        out.values[k * out.slots + slot] = sums[k].value(lane);
        if constexpr (Sum::fixed) {
          if (out.quanta != nullptr) out.quanta[k * out.slots + slot] = sums[k].quanta(lane);
          if (sums[k].strayed(lane)) strayed = std::uint8_t(strayed | (k < force_sums ? 1 : 2));
        }
      }
      if constexpr (Sum::fixed) {
        out.worst_ratio[slot] = simd::lane_of<float, V>(worst_ratio, lane);
        out.worst_energy[slot] = simd::lane_of<float, V>(worst_energy, lane);
        out.strayed[slot] = strayed;
      }
    }
  }
};

/// V particles and their sums.
template <class Sum, int V, bool coulomb, bool periodic, bool energy>
struct Block : BlockSums<Sum, V, energy> {
  using T = typename Sum::Real;
  using BlockSums<Sum, V, energy>::add;
  using BlockSums<Sum, V, energy>::carry;

  Vec<T, V> position[3], charge;

  /// Slots first ... first + V - 1.
  QUADRILLE_INLINE void begin(const PairProblem<T>& problem, std::int64_t first) {
    position[0] = load<T, V>(problem.x + first);
    position[1] = load<T, V>(problem.y + first);
    position[2] = load<T, V>(problem.z + first);
    charge = load<T, V>(problem.charge + first);
    this->clear();
  }

  QUADRILLE_INLINE Vec<T, V> charges(const PairProblem<T>& problem, Vec<T, V> other) const {
    if constexpr (!coulomb) return other;
    return rounded::product(rounded::product(charge, other), simd::broadcast<T, V>(problem.coulomb));
  }

  /// One particle j for all lanes, but those that `skip` names.
  template <bool masked>
  QUADRILLE_INLINE void interact(const PairProblem<T>& problem, const Vec<T, V> (&other)[3], Vec<T, V> other_charge,
                                 const Parameters<T, V>& of, simd::Mask<T, V> skip) {
    const Separation<T, V> d = separation<periodic, T, V>(problem, position, other);
    Interaction<T, V> pair =
        interaction<coulomb, energy, T, V>(problem, d.squared, of, charges(problem, other_charge), periodic);
    const Vec<T, V> none{};
    if constexpr (periodic) {
      const simd::Mask<T, V> near = d.squared < simd::broadcast<T, V>(problem.cutoff_squared);
      pair.p = near ? pair.p : none;
      if constexpr (energy) pair.energy = near ? pair.energy : none;
    }
    if constexpr (masked) {
      pair.p = skip ? none : pair.p;
      if constexpr (energy) pair.energy = skip ? none : pair.energy;
    }
    add(problem, d, pair);
  }

  /// The lists of the particles, an entry of each at a time.
  QUADRILLE_INLINE void add_listed(const PairProblem<T>& problem, std::int64_t first, int type) {
    std::int64_t longest = 0;
    QUADRILLE_ROLLED
    for (int lane = 0; lane < V; ++lane) {
      const std::int64_t length = problem.listed_begin[first + lane + 1] - problem.listed_begin[first + lane];
      longest = length > longest ? length : longest;
    }
    for (std::int64_t number = 0; number < longest; ++number) {
      add_entry(problem, first, type, number);
      carry(1);
    }
  }

  QUADRILLE_INLINE void add_entry(const PairProblem<T>& problem, std::int64_t first, int type, std::int64_t number) {
    Lanes<T, V> x, y, z, other_charge, own_product, force12, force6, energy12, energy6, kinds;
    QUADRILLE_ROLLED
    for (int lane = 0; lane < V; ++lane) {
      const std::int64_t at = problem.listed_begin[first + lane] + number;
      if (at >= problem.listed_begin[first + lane + 1]) continue;
      const ListedPair<T>& pair = problem.listed[at];
      const int parameters = type * problem.types + problem.chunk_type[pair.other / chunk_size];
      const bool regular = pair.removed != 0;
      kinds.at[lane] = T(regular ? 2 : 1);
      x.at[lane] = problem.x[pair.other];
      y.at[lane] = problem.y[pair.other];
      z.at[lane] = problem.z[pair.other];
      other_charge.at[lane] = problem.charge[pair.other];
      own_product.at[lane] = pair.charge;
      force12.at[lane] = regular ? problem.force12[parameters] : pair.force12;
      force6.at[lane] = regular ? problem.force6[parameters] : pair.force6;
      energy12.at[lane] = regular ? problem.energy12[parameters] : pair.energy12;
      energy6.at[lane] = regular ? problem.energy6[parameters] : pair.energy6;
    }
    const Vec<T, V> other[3] = {x.vector(), y.vector(), z.vector()};
    const Parameters<T, V> of{force12.vector(), force6.vector(), energy12.vector(), energy6.vector()};
    const simd::Mask<T, V> removed = kinds.vector() == simd::broadcast<T, V>(T(2));
    const simd::Mask<T, V> absent = kinds.vector() == simd::broadcast<T, V>(T(0));
    const Separation<T, V> d = separation<periodic, T, V>(problem, position, other);
    const Vec<T, V> own = rounded::product(own_product.vector(), simd::broadcast<T, V>(problem.coulomb));
    const Interaction<T, V> plain = interaction<coulomb, energy, T, V>(problem, d.squared, of, own, false);
    Interaction<T, V> regular =
        interaction<coulomb, energy, T, V>(problem, d.squared, of, charges(problem, other_charge.vector()), periodic);
    const Vec<T, V> none{};
    if constexpr (periodic) {
      const simd::Mask<T, V> near = d.squared < simd::broadcast<T, V>(problem.cutoff_squared);
      regular.p = near ? regular.p : none;
      regular.energy = near ? regular.energy : none;
    }
    Interaction<T, V> pair{removed ? -regular.p : plain.p, removed ? -regular.energy : plain.energy};
    pair.p = absent ? none : pair.p;
    pair.energy = absent ? none : pair.energy;
    add(problem, d, pair);
  }
};

}  // namespace quadrille::md::inline QUADRILLE_ISA
