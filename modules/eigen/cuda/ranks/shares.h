// Vectors of an eigenproblem in equal shares, rank after rank.
#pragma once

#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/layout.h"

#include <algorithm>
#include <cstdint>

namespace quadrille::eigen {

/// The layout of n x count vectors, as far as columns_before() goes: its numbers of columns are those of n x n.
inline Layout shares_of(std::int64_t n, std::int64_t count, int ranks) {
  return {n, std::max<std::int64_t>(1, (count + ranks - 1) / ranks), 1, ranks};
}
inline IndexRange share_of(IndexRange wanted, int rank, int ranks) {
  const std::int64_t most = shares_of(wanted.count, wanted.count, ranks).block;
  const std::int64_t first = std::min(rank * most, wanted.count);
  return {wanted.first + first, std::min(most, wanted.count - first)};
}

}  // namespace quadrille::eigen
