// Sums that do not depend on the number of threads: partial sums over fixed chunks of 1,024 items, each in order,
// combined in double in a fixed binary tree.
#pragma once

#include "core/system/team.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quadrille {

constexpr std::int64_t sum_chunk = 1024;  ///< items (sites) of one partial sum

/// Adds `rows` rows of `count` partial sums pairwise, neighbours first, in place; the totals are the first row. The
/// tree depends on the number of rows only.
inline void combine_partial_sums(double* partial, std::size_t rows, std::size_t count) {
  for (std::size_t step = 1; step < rows; step *= 2)
    for (std::size_t i = 0; i + step < rows; i += 2 * step)
      for (std::size_t n = 0; n < count; ++n) partial[i * count + n] += partial[(i + step) * count + n];
}
/// The same of arrays, whose total it gives: zeros of an empty list.
template <std::size_t N>
std::array<double, N> combine_partial_sums(std::span<std::array<double, N>> partial) {
  if (partial.empty()) return {};
  combine_partial_sums(partial[0].data(), partial.size(), N);
  return partial[0];
}

/// N sums at once: `add(item, sums)` adds the terms of one item to sums[0..N). It is called once for each item of
/// [0, count), from several threads.
template <std::size_t N, class Add>
std::array<double, N> chunked_sum(std::int64_t count, Add add) {
  const std::int64_t chunks = (count + sum_chunk - 1) / sum_chunk;
  std::vector<std::array<double, N>> partial(static_cast<std::size_t>(chunks));
  team_for(chunks, [&](std::int64_t chunk) {
    std::array<double, N> sums{};
    const std::int64_t end = std::min(count, (chunk + 1) * sum_chunk);
    for (std::int64_t item = chunk * sum_chunk; item < end; ++item) add(item, sums);
    partial[static_cast<std::size_t>(chunk)] = sums;
  });
  return combine_partial_sums(std::span(partial));
}

}  // namespace quadrille
