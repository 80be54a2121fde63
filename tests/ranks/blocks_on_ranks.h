// Block-sparse matrices for tests on grids of ranks, on one rank and on a grid: the same numbers.
#pragma once

#include "modules/block_dft/matrix/random_blocks.h"
#include "modules/block_dft/product/multiply.h"
#include "modules/mgemm/product/blas.h"
#include "tests/modules/block_dft/dense.h"
#include "tests/ranks/ranks_testing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace quadrille::block_dft::testing {

using quadrille::testing::all_ranks;
using Grid = std::shared_ptr<const MatrixGrid>;

/// A seed that all ranks have and no two calls.
inline std::uint64_t seed() { return quadrille::testing::shared_seed(); }

/// Every shape, with blocks dealt in another way in each run.
inline std::vector<Grid> grids(const Communicator& ranks) {
  std::vector<Grid> out;
  const std::uint64_t dealt = seed();
  for (int rows = 1; rows <= ranks.size(); ++rows) {
    if (ranks.size() % rows == 0) out.push_back(MatrixGrid::over(ranks, rows, ranks.size() / rows, dealt));
  }
  return out;
}

inline std::string name_of(const Grid& grid) {
  return grid ? fmt::format("{} x {} ranks", grid->rows(), grid->columns()) : "one rank";
}

inline BlockSizes shared_sizes(std::int32_t count) { return random_sizes(count, {1, 2, 5, 7, 13, 23}, seed()); }

/// Of all ranks, on all of them.
template <class T>
Dense whole(const BlockMatrix<T>& a) {
  const std::vector<T> mine = a.to_dense();
  Dense out(mine.begin(), mine.end());
  if (a.grid()) a.grid()->ranks().sum(out.data(), out.size());
  return out;
}

/// alpha op(A) op(B) + beta C by OpenBLAS; rows x columns of what is stored.
struct DenseFactor {
  Dense numbers;
  std::int64_t rows, columns;
  Transpose op;
  DenseView<const double> view() const {
    // By columns it is the transpose.
    const DenseView<const double> stored{numbers.data(), columns, rows, columns, false};
    return op == Transpose::no ? stored : stored.transposed();
  }
};
inline Dense dense_product(double alpha, const DenseFactor& a, const DenseFactor& b, double beta, Dense c,
                           std::int64_t m, std::int64_t n) {
  mgemm::dense_product(alpha, b.view(), a.view(), beta, DenseView<double>{c.data(), n, m, n, false});
  return c;
}

/// A and B, or their transposes, and C: on one rank and the same on a grid.
template <class T>
struct Problem {
  BlockSizes m, k, n;
  Transpose op_a, op_b;
  BlockMatrix<T> a, b, c;

  static Problem on(const Grid& grid, const Problem& alone, std::uint64_t numbers, double occupation, double decay) {
    Problem out{alone.m.on(grid), alone.k.on(grid), alone.n.on(grid), alone.op_a, alone.op_b, {}, {}, {}};
    const bool turn_a = out.op_a == Transpose::yes, turn_b = out.op_b == Transpose::yes;
    const BlockSizes &m = out.m, &k = out.k, &n = out.n;
    out.a = random_blocks<T>(turn_a ? k : m, turn_a ? m : k, Symmetry::none, occupation, numbers, decay);
    out.b = random_blocks<T>(turn_b ? n : k, turn_b ? k : n, Symmetry::none, occupation, numbers + 1, decay);
    out.c = random_blocks<T>(m, n, Symmetry::none, 0.3, numbers + 2);
    return out;
  }
  Dense expected(double alpha, double beta) const {
    return dense_product(alpha, {whole(a), a.rows().total(), a.columns().total(), op_a},
                         {whole(b), b.rows().total(), b.columns().total(), op_b}, beta, whole(c), m.total(), n.total());
  }
};

/// body(problem on one rank, the same on a grid) for all grids, of random sizes and fillings.
template <class T>
void for_each_problem(Transpose op_a, Transpose op_b, double decay,
                      const std::function<void(const Problem<T>&, const Problem<T>&)>& body) {
  const auto ranks = all_ranks();
  std::mt19937_64 random(seed());
  for (const Grid& grid : grids(*ranks)) {
    const auto blocks = [&] { return std::int32_t(3 + random() % 25); };
    const double occupation = 0.05 + 0.9 * double(random() % 1000) / 1000;
    const std::uint64_t numbers = seed();
    const Problem<T> sizes{
        shared_sizes(blocks()), shared_sizes(blocks()), shared_sizes(blocks()), op_a, op_b, {}, {}, {}};
    SCOPED_TRACE(name_of(grid));
    body(Problem<T>::on(nullptr, sizes, numbers, occupation, decay),
         Problem<T>::on(grid, sizes, numbers, occupation, decay));
  }
}

}  // namespace quadrille::block_dft::testing
