// Pair forces from neighbour lists as plain data: what kernels of every instruction set read.
#pragma once

#include "core/host_device.h"
#include "modules/md/pairs/pair_problem.h"

#include <cstddef>

namespace quadrille::md {

/// Where a particle is, as kernels read it. In single precision coordinates are 32-bit fractions of the box, whose
/// differences wrap around it and are exact; in double they are in [0, edge). `far` is added to squared distances: 0,
/// and for the slot that is nobody, which fills up lists, beyond every cutoff.
template <class T>
struct alignas(4 * sizeof(T)) Place {
  T x, y, z, far;
};
template <>
struct alignas(16) Place<float> {
  std::int32_t x, y, z;
  float far;
};

/// On CPUs `far` of a particle in single precision, which is 0, holds its type as bits; those of a slot that is nobody
/// are above all types.
constexpr std::int32_t most_types = 1 << 20;
inline float far_of_type(std::int32_t type) { return __builtin_bit_cast(float, type); }

/// The nearest whole number of 2^-32 of the edge, in the box; `inverse_unit` is 2^32 over the edge. |position| is below
/// 2^18 edges: beyond `furthest` a fraction has no meaning.
QUADRILLE_HOST_DEVICE std::uint32_t fraction_of(double position, double inverse_unit) {
#ifdef __CUDA_ARCH__
  return std::uint32_t(__double_as_longlong(__dadd_rn(__dmul_rn(position, inverse_unit), 0x1.8p52)));
#else
  const double product = position * inverse_unit;
  return std::uint32_t(__builtin_bit_cast(std::uint64_t, product + 0x1.8p52));
#endif
}
constexpr double furthest = 0x1p18;

/// Kernels read as many numbers of each table of types.
constexpr std::size_t table_room = 32;

/// Of the pair problem coefficients and constants count; kinds of particles are read by slot, and pairs of their own,
/// `listed`, are those of particles: listed_begin is null (none) or [particle + 1], `other` is a particle.
template <class T>
struct ListProblem : PairProblem<T> {
  const Place<T>* at;               ///< [slot]
  const std::int32_t* type;         ///< [slot]
  const T* charge_at;               ///< [slot]
  const std::int32_t* particle_of;  ///< [slot]; -1: nobody
  const std::int32_t* slot_of;      ///< [particle]
  T unit[3];                        ///< of a fraction: edge / 2^32
  bool shifted_force;               ///< the force at the cutoff is taken from that of every pair
  const T* edge_force;              ///< [type][type], scaled: that force over the cutoff's unit vector
  const T* energy_shift;            ///< [type][type], scaled: what is taken from energies
  T edge_coulomb, shift_coulomb;    ///< the same of charges, over their product
};

/// The lists of group g of V slots: entry n of lane l is entries[g][n V + l], a slot.
struct GroupedLists {
  const std::int32_t* const* entries;  ///< [group]
  const std::int32_t* length;          ///< [group]
};

/// A form of kernels.
struct ListForm {
  Method method;
  bool coulomb;
  bool typed;  ///< more than one type
  bool energy;
};

/// Slots begin ... end - 1.
struct SlotRange {
  std::int32_t begin, end;
};

/// Where neighbours are looked for: coordinates by slot, with 16 more that are read and not used.
struct NearProblem {
  const std::int32_t* x;
  const std::int32_t* y;
  const std::int32_t* z;
  float unit[3];
  float radius_squared;
};

}  // namespace quadrille::md
