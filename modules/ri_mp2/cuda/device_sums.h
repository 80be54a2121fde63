// What is done to a batch of integrals in the device's memory: sums, and a copy for who sees it.
#pragma once

#include "core/error.h"
#include "modules/ri_mp2/batches.h"
#include "modules/ri_mp2/cuda/arrays.h"
#include "modules/ri_mp2/cuda/kernels.h"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

namespace quadrille::ri_mp2 {

/// Orbital energies on the device.
struct Energies {
  explicit Energies(const System& system)
      : occupied(sent(system.eps_occupied, "the orbital energies")),
        virtuals(sent(system.eps_virtual, "the orbital energies")) {}
  cuda::DeviceArray<double> occupied, virtuals;
};

template <class T>
SpinSums sum_there(const System& system, const Energies& energies, const Batch<T>& batch) {
  const std::int64_t pairs = batch.count_i * batch.count_j;
  if (pairs > most_pairs || system.virtuals > most_virtuals) {
    throw Error(ErrorCode::unsupported, fmt::format("a batch of {} pairs of occupied orbitals and {} virtual orbitals "
                                                    "is too large for the sums on a GPU: use a smaller `memory`",
                                                    pairs, system.virtuals));
  }
  const SpinSums sums = sum_integrals(DeviceBatch<T>{
      batch.integrals, energies.occupied.get() + batch.first_i, energies.occupied.get() + batch.first_j,
      energies.virtuals.get(), unsigned(batch.count_i), unsigned(batch.count_j), unsigned(system.virtuals)});
  const double times = batch.first_i == batch.first_j ? 1 : 2;
  return {times * sums.opposite, times * sums.same};
}

/// Brings a batch to the caller.
template <class T>
void show_there(const System& system, const Options& options, const Batch<T>& batch) {
  const std::int64_t pairs = batch.count_i * batch.count_j;
  const std::vector<T> here = cuda::fetched(batch.integrals, pairs * system.virtuals * system.virtuals);
  Batch<T> shown = batch;
  shown.integrals = here.data();
  viewer<T>(options)(shown);
}

}  // namespace quadrille::ri_mp2
