// The interactions of V slots with the entries of their lists: one source for V lanes of a CPU's vectors and for a
// thread of a device. Reciprocals are correctly rounded on both, so that the same positions give the same bits (on CPUs
// that round a b + c once: AVX2 and AVX-512).
#pragma once

#include "core/simd/gather.h"
#include "modules/md/lists/list_problem.h"
#include "modules/md/pairs/pair_block.h"

namespace quadrille::md::inline QUADRILLE_ISA {

template <int V>
using Slots = Vec<std::int32_t, V>;

/// Coordinates of V particles, in the form of their precision.
template <class T, int V>
struct Places {
  Vec<T, V> x, y, z, far;
};
template <int V>
struct Places<float, V> {
  Slots<V> x, y, z;
  Vec<float, V> far;
#ifndef QUADRILLE_SCALAR_LANES
  Slots<V> type;  ///< where there are several
#endif
};

#ifdef QUADRILLE_SCALAR_LANES
template <bool typed, int V, class T>
QUADRILLE_INLINE Places<T, V> places(const Place<T>* at, const std::int32_t* slots) {
  const Place<T> place = at[*slots];
  return {place.x, place.y, place.z, place.far};
}
#else
template <bool typed, int V>
QUADRILLE_INLINE Places<float, V> places(const Place<float>* at, const std::int32_t* slots) {
  const simd::FourWords<V> words = simd::gather_four<V>(reinterpret_cast<const float*>(at), slots);
  Places<float, V> out{(Slots<V>)words.word[0], (Slots<V>)words.word[1], (Slots<V>)words.word[2], words.word[3], {}};
  if constexpr (typed) {  // see far_of_type()
    const auto kind = (Slots<V>)words.word[3];
    const auto somebody = kind < simd::broadcast<std::int32_t, V>(most_types);
    out.far = somebody ? Vec<float, V>{} : words.word[3];
    out.type = somebody ? kind : Slots<V>{};
  }
  return out;
}
template <bool typed, int V>
QUADRILLE_INLINE Places<double, V> places(const Place<double>* at, const std::int32_t* slots) {
  const simd::FourNumbers<V> numbers = simd::gather_four<V>(&at->x, slots);
  return {numbers.number[0], numbers.number[1], numbers.number[2], numbers.number[3]};
}
#endif

// Differences of fractions wrap around the box: the nearest image, with no more work. That of -2^31 is its own
// negative; it is half a box and beyond the cutoff.
template <int V>
QUADRILLE_INLINE Separation<float, V> separation(const ListProblem<float>& problem, const Places<float, V>& i,
                                                 const Places<float, V>& j) {
  using Word = Vec<std::uint32_t, V>;
  const auto along = [&](Slots<V> a, Slots<V> b, int k) {
    return rounded::product(simd::to_float<V>((Slots<V>)((Word)a - (Word)b)),
                            simd::broadcast<float, V>(problem.unit[k]));
  };
  const Vec<float, V> x = along(i.x, j.x, 0), y = along(i.y, j.y, 1), z = along(i.z, j.z, 2);
  return {x, y, z,
          rounded::fused<float, V>(x, x, rounded::fused<float, V>(y, y, rounded::fused<float, V>(z, z, j.far)))};
}
template <int V>
QUADRILLE_INLINE Separation<double, V> separation(const ListProblem<double>& problem, const Places<double, V>& i,
                                                  const Places<double, V>& j) {
  const Vec<double, V> of_i[3] = {i.x, i.y, i.z}, of_j[3] = {j.x, j.y, j.z};
  Separation<double, V> d = separation<true, double, V>(problem, of_i, of_j);
  d.squared = rounded::sum(d.squared, j.far);
  return d;
}

/// V slots and their sums. Without `may_shift` forces are not shifted, whatever the problem says.
template <class Sum, int V, bool coulomb, bool typed, bool energy, bool may_shift = true>
struct ListBlock : BlockSums<Sum, V, energy> {
  using T = typename Sum::Real;
  using Reals = Vec<T, V>;
  using BlockSums<Sum, V, energy>::add;
  using BlockSums<Sum, V, energy>::carry;

  Places<T, V> place;
  Reals charge;
  Slots<V> row;                 ///< of type tables
  std::int32_t pairs_of_types;  ///< their size
  Parameters<T, V> of_one;      ///< where there is one type

  /// What the other particles of V entries have.
  struct Others {
    Places<T, V> place;
    Slots<V> type;
    Reals charge;
  };
  QUADRILLE_INLINE static Others fetched(const ListProblem<T>& problem, const std::int32_t* slots) {
    Others out{places<typed, V>(problem.at, slots), {}, {}};
    const Slots<V> index = load<std::int32_t, V>(slots);
    if constexpr (typed) out.type = type_of(problem, out.place, index);
    if constexpr (coulomb) out.charge = simd::gather<T, V>(problem.charge_at, index);
    return out;
  }

  QUADRILLE_INLINE static Slots<V> type_of(const ListProblem<T>& problem, const Places<T, V>& there, Slots<V> index) {
#ifndef QUADRILLE_SCALAR_LANES
    if constexpr (sizeof(T) == sizeof(float)) return there.type;
#endif
    (void)there;
    return simd::gather<std::int32_t, V>(problem.type, index);
  }

  QUADRILLE_INLINE void begin(const ListProblem<T>& problem, std::int64_t first) {
    Lanes<std::int32_t, V> slots;
    for (int lane = 0; lane < V; ++lane) slots.at[lane] = std::int32_t(first) + lane;
    place = places<typed, V>(problem.at, slots.at);
    charge = load<T, V>(problem.charge_at + first);
    row = load<std::int32_t, V>(problem.type + first) * problem.types;
    pairs_of_types = problem.types * problem.types;
    of_one = from_tables(problem, Slots<V>{});
    this->clear();
  }

  QUADRILLE_INLINE Reals of_types(const T* table, Slots<V> at) const {
    if constexpr (!typed) return simd::broadcast<T, V>(table[0]);
    return simd::look_up<T, V>(table, pairs_of_types, at);
  }
  QUADRILLE_INLINE Parameters<T, V> from_tables(const ListProblem<T>& problem, Slots<V> at) const {
    Parameters<T, V> of{of_types(problem.force12, at), of_types(problem.force6, at), {}, {}};
    if constexpr (energy) {
      of.energy12 = of_types(problem.energy12, at);
      of.energy6 = of_types(problem.energy6, at);
    }
    return of;
  }

  /// Within the cutoff, shifted as the problem says; else nothing.
  QUADRILLE_INLINE Interaction<T, V> regular(const ListProblem<T>& problem, Reals squared, const Others& others) const {
    const Slots<V> at = row + others.type;
    Reals charges{};
    if constexpr (coulomb) charges = product_with(problem, others.charge);
    const Parameters<T, V> of = typed ? from_tables(problem, at) : of_one;
    Interaction<T, V> pair =
        interaction<coulomb, energy, T, V, Reciprocals::rounded>(problem, squared, of, charges, true);
    Reals shift{};
    if constexpr (energy) {
      shift = of_types(problem.energy_shift, at);
      if constexpr (coulomb) {
        const Reals coefficient = simd::broadcast<T, V>(problem.shift_coulomb * problem.energy_scale);
        shift = rounded::fused<T, V>(charges, coefficient, shift);
      }
    }
    if (may_shift && problem.shifted_force) {
      Reals edge = of_types(problem.edge_force, at);
      if constexpr (coulomb) edge = rounded::fused<T, V>(charges, simd::broadcast<T, V>(problem.edge_coulomb), edge);
      const Reals inverse_distance = inverse_root<Reciprocals::rounded, T, V>(squared);
      pair.p = rounded::fused<T, V>(-edge, inverse_distance, pair.p);
      if constexpr (energy) {
        const Reals distance = rounded::product(squared, inverse_distance);
        const Reals slope = rounded::product(edge, simd::broadcast<T, V>(problem.energy_scale));
        shift = rounded::fused<T, V>(-slope, distance, shift);
      }
    }
    const simd::Mask<T, V> near = squared < simd::broadcast<T, V>(problem.cutoff_squared);
    const Reals none{};
    pair.p = near ? pair.p : none;
    if constexpr (energy) pair.energy = near ? rounded::difference(pair.energy, shift) : none;
    return pair;
  }

  QUADRILLE_INLINE Reals product_with(const ListProblem<T>& problem, Reals other) const {
    return rounded::product(rounded::product(charge, other), simd::broadcast<T, V>(problem.coulomb));
  }

  QUADRILLE_INLINE void interact(const ListProblem<T>& problem, const Others& others) {
    const Separation<T, V> d = separation<V>(problem, place, others.place);
    add(problem, d, regular(problem, d.squared, others));
  }

  /// Pairs that are taken away or have parameters of their own, an entry of each lane at a time.
  QUADRILLE_INLINE void add_listed(const ListProblem<T>& problem, std::int64_t first, std::int32_t nobody) {
    if (problem.listed_begin == nullptr) return;
    Lanes<std::int64_t, V> begin, end;
    std::int64_t longest = 0;
    QUADRILLE_ROLLED
    for (int lane = 0; lane < V; ++lane) {
      const std::int32_t particle = problem.particle_of[first + lane];
      if (particle < 0) continue;
      begin.at[lane] = problem.listed_begin[particle];
      end.at[lane] = problem.listed_begin[particle + 1];
      longest = end.at[lane] - begin.at[lane] > longest ? end.at[lane] - begin.at[lane] : longest;
    }
    for (std::int64_t number = 0; number < longest; ++number) {
      add_entry(problem, begin, end, number, nobody);
      carry(1);
    }
  }

  QUADRILLE_INLINE void add_entry(const ListProblem<T>& problem, const Lanes<std::int64_t, V>& begin,
                                  const Lanes<std::int64_t, V>& end, std::int64_t number, std::int32_t nobody) {
    Lanes<T, V> product, force12, force6, energy12, energy6, kinds;  // 0: none
    Lanes<std::int32_t, V> slots;
    QUADRILLE_ROLLED
    for (int lane = 0; lane < V; ++lane) {
      const std::int64_t entry = begin.at[lane] + number;
      slots.at[lane] = nobody;
      if (entry >= end.at[lane]) continue;
      const ListedPair<T>& pair = problem.listed[entry];
      slots.at[lane] = problem.slot_of[pair.other];
      kinds.at[lane] = T(pair.removed != 0 ? 2 : 1);
      product.at[lane] = pair.charge;
      force12.at[lane] = pair.force12;
      force6.at[lane] = pair.force6;
      energy12.at[lane] = pair.energy12;
      energy6.at[lane] = pair.energy6;
    }
    const Others others = fetched(problem, slots.at);
    const Separation<T, V> d = separation<V>(problem, place, others.place);
    const Reals own_product = rounded::product(product.vector(), simd::broadcast<T, V>(problem.coulomb));
    const Parameters<T, V> of{force12.vector(), force6.vector(), energy12.vector(), energy6.vector()};
    const Interaction<T, V> own =
        interaction<coulomb, energy, T, V, Reciprocals::rounded>(problem, d.squared, of, own_product, false);
    const Interaction<T, V> taken = regular(problem, d.squared, others);
    const simd::Mask<T, V> removed = kinds.vector() == simd::broadcast<T, V>(T(2));
    const simd::Mask<T, V> absent = kinds.vector() == simd::broadcast<T, V>(T(0));
    const Reals none{};
    Interaction<T, V> pair{removed ? -taken.p : own.p, removed ? -taken.energy : own.energy};
    pair.p = absent ? none : pair.p;
    if constexpr (energy) pair.energy = absent ? none : pair.energy;
    add(problem, d, pair);
  }
};

}  // namespace quadrille::md::inline QUADRILLE_ISA
