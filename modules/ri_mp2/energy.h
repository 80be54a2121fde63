// The sums over virtual orbitals of a batch of integrals.
#pragma once

#include "modules/ri_mp2/pair_sums.h"
#include "modules/ri_mp2/ri_mp2.h"

namespace quadrille::ri_mp2 {

/// Integrals (ia|jb) of the occupied orbitals [first_i, first_i + count_i) and [first_j, ...), stored as
/// [i][a][j][b].
template <class T>
struct Batch {
  const T* integrals;
  std::int64_t first_i, count_i, first_j, count_j;
};

/// Over the ordered pairs i, j of the batch and, where they are two different batches, over the swapped pairs too. In
/// double, each pair by one thread and all in a fixed order: the same bits for any number of threads.
template <class T>
SpinSums sum_batch(const System& system, const Batch<T>& batch);

/// How errors of integrals move the energy. By Cauchy and Schwarz |(ia|jb)| <= |B_ia| |B_jb|, which bounds the
/// derivative c = (4 x - 2 y) / D of the energy by each integral. Sums are over all ordered pairs.
struct Sensitivity {
  double first = 0;   ///< bound of sum |c|
  double second = 0;  ///< 3 sum 1 / |D|

  /// What errors of elements up to e move the energy by at most: first e + second e^2.
  double error(double element) const { return first * element + second * element * element; }
};
/// `squares`: |B_ia|^2 of every pair.
Sensitivity energy_sensitivity(const System& system, const std::vector<double>& squares);

/// e_a - e_i of the pair ia.
inline double gap(const System& system, std::int64_t ia) {
  return system.eps_virtual[std::size_t(ia % system.virtuals)] - system.eps_occupied[std::size_t(ia / system.virtuals)];
}

/// |B_ia|^2 of every pair.
std::vector<double> squares_of_rows(const System& system, const std::vector<double>& b);

}  // namespace quadrille::ri_mp2
