// Arrays of the module on the device, and sums of chunks that its kernels have left there.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "core/numbers/chunked_sum.h"

#include <algorithm>

namespace quadrille::md {

constexpr const char* particles_advice = "fewer particles or a shorter cutoff would need less";

/// Of one element at least.
template <class N>
cuda::DeviceArray<N> room(std::int64_t count) {
  return cuda::DeviceArray<N>(std::max<std::int64_t>(1, count), "forces between particles", particles_advice);
}
template <class N>
cuda::DeviceArray<N> sent(const std::vector<N>& numbers) {
  return numbers.empty() ? room<N>(1) : cuda::sent(numbers, "forces between particles", particles_advice);
}

inline std::int64_t chunks_of(std::int64_t items) { return (items + sum_chunk - 1) / sum_chunk; }

/// Sums of chunks on the device, [sum][chunk], combined as chunked_sum() combines them.
template <std::size_t N>
std::array<double, N> combined(const cuda::DeviceArray<double>& partial, std::int64_t chunks) {
  const std::vector<double> all = cuda::fetched(partial.get(), std::int64_t(N) * chunks);
  std::vector<std::array<double, N>> by_chunk(static_cast<std::size_t>(chunks));
  for (std::size_t n = 0; n < all.size(); ++n) by_chunk[n % std::size_t(chunks)][n / std::size_t(chunks)] = all[n];
  return combine_partial_sums(std::span(by_chunk));
}

}  // namespace quadrille::md
