// The batches of integrals of a system, one after the other.
#pragma once

#include "modules/ri_mp2/energy.h"

#include <algorithm>
#include <cstdint>

namespace quadrille::ri_mp2 {

/// Calls f(batch) for batches of `size` occupied orbitals i, and for each those of j up to that of i; all integrals are
/// to be made in `memory`. Tells of progress.
template <class T, class F>
void for_each_batch(const System& system, const Options& options, const T* memory, std::int64_t size, F&& f) {
  const std::int64_t batches = (system.occupied + size - 1) / size;
  const auto count = [&](std::int64_t k) { return std::min(size, system.occupied - k * size); };
  for (std::int64_t i = 0; i < batches; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      f(Batch<T>{memory, i * size, count(i), j * size, count(j)});
      if (options.progress) options.progress(double(i * (i + 1) / 2 + j + 1) / double(batches * (batches + 1) / 2));
    }
  }
}

inline bool is_seen(const Options& options, const Batch<double>&) { return bool(options.see_batch); }
inline bool is_seen(const Options& options, const Batch<float>&) { return bool(options.see_single_batch); }

/// Integrals in the memory of the host, to who asked for them.
inline void show_batch(const Options& options, const Batch<double>& batch) {
  if (options.see_batch) options.see_batch(batch);
}
inline void show_batch(const Options& options, const Batch<float>& batch) {
  if (options.see_single_batch) options.see_single_batch(batch);
}

}  // namespace quadrille::ri_mp2
