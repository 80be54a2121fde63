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

/// Adds the partial sums pairwise, neighbours first, in place; the total is partial[0]. The tree depends on their
/// number only. An empty list gives zeros.
template <std::size_t N>
std::array<double, N> combine_partial_sums(std::span<std::array<double, N>> partial) {
  for (std::size_t step = 1; step < partial.size(); step *= 2)
    for (std::size_t i = 0; i + step < partial.size(); i += 2 * step)
      for (std::size_t n = 0; n < N; ++n) partial[i][n] += partial[i + step][n];
  return partial.empty() ? std::array<double, N>{} : partial[0];
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
