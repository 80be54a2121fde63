// The entry points of the device code of this module (kernels.cu), as the host's code calls them. All arrays are in the
// device's memory; everything runs on the backend's stream.
#pragma once

#include "modules/ri_mp2/pair_sums.h"

#include <cstdint>

namespace quadrille::ri_mp2 {

/// A batch of integrals [i][a][j][b], and the orbital energies of its i and j and of all virtual orbitals.
template <class T>
struct DeviceBatch {
  const T* integrals;
  const double *eps_i, *eps_j, *eps_virtual;
  unsigned count_i, count_j, virtuals;
};

/// Largest numbers of pairs i, j of a batch and of virtual orbitals, whose tiles are then counted in 32 bits.
constexpr std::int64_t most_pairs = std::int64_t(1) << 30, most_virtuals = std::int64_t(1) << 20;
/// Virtual orbitals of a tile.
constexpr int tile = 32;

/// The sums over all ordered pairs i, j of the batch. Waits. Reads every integral once: bytes 8 (4 in single), a
/// division and some ten operations for two of them, so that the memory bounds it.
template <class T>
SpinSums sum_integrals(const DeviceBatch<T>& batch);

/// to = from, rounded.
void narrow(const double* from, std::int64_t count, float* to);

/// squares[row] = |row|^2 of a matrix without gaps.
void square_rows(const double* matrix, std::int64_t rows, std::int64_t length, double* squares);

/// Samples of rows r of the integrals, [row][jb]: x = (ia|jb) and what the energy's derivative is made of.
struct DeviceRows {
  const double* gaps;          ///< of all pairs jb
  const double* gaps_of_rows;  ///< of the pairs ia of the rows
  std::int64_t pairs;
  unsigned rows;  ///< at most 65535
};
/// derivatives: (ib|ja) on entry, the derivative of the energy by x on return.
void make_derivatives(const DeviceRows& of, const double* exact, double* derivatives);

/// moved[row] for integrals that are `mixed` instead of `exact`. One block a row, sums in a fixed order.
void sum_errors(const DeviceRows& of, const double* mixed, const double* exact, const double* derivatives,
                MovedEnergy* moved);

}  // namespace quadrille::ri_mp2
