// What products of random block-sparse matrices take, and what their filter leaves out.
#pragma once

#include "modules/block_dft/product/multiply.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace quadrille::block_dft {

/// C = A B of random blocks (random_blocks.h), or C = A B + C.
struct StudyProblem {
  BlockSizes m, n, k;
  double occupation = 0.1;
  double decay = 0;
  bool symmetric = false;  ///< A = B symmetric, C = A^2 by its upper half; m, n and k are the same
  std::uint64_t seed = 1;
  double eps = 0;
  bool transpose = false;   ///< A is stored as its transpose
  bool accumulate = false;  ///< C, as occupied as A and B, is added to
  bool single = false;
};

struct StudyOptions {
  std::vector<Driver> drivers;
  bool mixed = false;  ///< of matrices in double: also in mixed precision
  int repeats = 5;
  bool check = false;   ///< compare with the product that leaves nothing out
  bool dense = false;   ///< and with the time of the dense product by OpenBLAS
  bool on_gpu = false;  ///< from the device's memory to the device's memory; drivers and dense do not count
  bool pinned = false;  ///< on a GPU from and to pinned memory of the host
};

struct StudyRow {
  Driver driver = Driver::automatic;
  bool mixed = false;
  MultiplyReport report{};  ///< of the fastest call
  double seconds = 0;       ///< median
  double shortest_seconds = 0, longest_seconds = 0;
  double a_occupation = 0, c_occupation = 0;
  double bytes = 0;                       ///< of A, B and C
  double transfer_seconds = 0;            ///< sending A and B to a GPU
  double device_seconds = 0;              ///< median; of a pinned product, if A, B and C were in the device's memory
  double product_bytes = 0;               ///< of the factors of all products: what caches must give
  std::optional<double> error{};          ///< |C - C without filter|, Frobenius
  std::optional<double> dense_seconds{};  ///< median; of the whole matrices in the same precision
};

/// One row for each driver, and with `mixed` two; they take turns. On a GPU one row, with `mixed` two. `progress` gets
/// the number of calls done of all, and may throw. On a grid the times are those of the slowest rank; collective.
std::vector<StudyRow> measure_products(const StudyProblem& problem, const StudyOptions& options,
                                       const std::function<void(int, int)>& progress);

}  // namespace quadrille::block_dft
