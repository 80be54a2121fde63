// What is done to one block, or one row of blocks, of a matrix: the bodies of kernels, for `lanes` threads together.
// A body that gives a number gives a lane's share of a sum.
#pragma once

#include "modules/block_dft/matrix/cuda/matrix_view.h"

#include <cmath>

namespace quadrille::block_dft {

QUADRILLE_HOST_DEVICE std::int64_t numbers_of(const MatrixView& m, std::int64_t slot) {
  return m.at[slot + 1] - m.at[slot];
}

// ---- a slot each ----------------------------------------------------------------------------------------------------

struct ScaleBlock {
  MatrixView m;
  double* data;
  double alpha;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t slot, int lane, int lanes) const {
    for (std::int64_t k = m.at[slot] + lane; k < m.at[slot + 1]; k += lanes) data[k] *= alpha;
  }
};

/// By the mean of its row's and its column's factor.
struct ScaleByMean {
  MatrixView m;
  double* data;
  const double* factor;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t slot, int lane, int lanes) const {
    const double mean = (factor[row_of(m, slot)] + factor[m.column[slot]]) / 2;
    for (std::int64_t k = m.at[slot] + lane; k < m.at[slot + 1]; k += lanes) data[k] *= mean;
  }
};

/// missing[slot]: whether A lacks this block of B.
struct MarkMissing {
  MatrixView a, b;
  std::int64_t* missing;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t slot, int lane, int) const {
    if (lane == 0) missing[slot] = find_slot(a, row_of(b, slot), b.column[slot]) < 0 ? 1 : 0;
  }
};

/// Where a block of A, or one of B that A lacks, is in the union: behind the blocks of A and the missing ones of B
/// before it, which `missing` counts.
struct PlaceInUnion {
  MatrixView a, b;
  bool of_a;
  const std::int64_t* missing;  ///< [slot of B + 1]: before it
  std::int32_t* column;
  std::int64_t* numbers;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t slot, int lane, int) const {
    if (lane != 0 || (!of_a && missing[slot] == missing[slot + 1])) return;
    const MatrixView &m = of_a ? a : b, &other = of_a ? b : a;
    const std::int64_t before = lower_slot(other, row_of(m, slot), m.column[slot]);
    const std::int64_t to = of_a ? slot + missing[before] : before + missing[slot];
    column[to] = m.column[slot];
    numbers[to] = numbers_of(m, slot);
  }
};

/// Where rows of the union begin.
struct BeginUnion {
  MatrixView a, b;
  const std::int64_t* missing;
  std::int64_t* first;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t i, int lane, int) const {
    if (lane == 0) first[i] = a.first[i] + missing[b.first[i]];
  }
};

/// A block of the sum alpha A + beta B, whose places are those of `to`, which may be A.
struct AddBlocks {
  MatrixView to, a, b;
  double* data;
  double alpha, beta;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t slot, int lane, int lanes) const {
    const std::int32_t i = row_of(to, slot), j = to.column[slot];
    const std::int64_t of_a = find_slot(a, i, j), of_b = find_slot(b, i, j);
    const double *left = of_a < 0 ? nullptr : a.data + a.at[of_a], *right = of_b < 0 ? nullptr : b.data + b.at[of_b];
    double* block = data + to.at[slot];
    for (std::int64_t k = lane; k < numbers_of(to, slot); k += lanes) {
      block[k] = (left != nullptr ? alpha * left[k] : 0) + (right != nullptr ? beta * right[k] : 0);
    }
  }
};

/// The sum of A_pq B_pq over a block, mirror images included where `mirrored`.
struct DotOfBlock {
  MatrixView a, b;
  bool mirrored;
  QUADRILLE_HOST_DEVICE double operator()(std::int64_t slot, int lane, int lanes) const {
    const std::int32_t i = row_of(a, slot), j = a.column[slot];
    const std::int64_t other = find_slot(b, i, j);
    if (other < 0) return 0;
    double sum = 0;
    for (std::int64_t k = lane; k < numbers_of(a, slot); k += lanes) {
      sum += a.data[a.at[slot] + k] * b.data[b.at[other] + k];
    }
    return mirrored && i != j ? 2 * sum : sum;
  }
};

// ---- a row of blocks each -------------------------------------------------------------------------------------------

/// 1 where there is no diagonal block.
struct LacksDiagonal {
  MatrixView m;
  QUADRILLE_HOST_DEVICE double operator()(std::int64_t i, int lane, int) const {
    return lane == 0 && find_slot(m, std::int32_t(i), std::int32_t(i)) < 0 ? 1 : 0;
  }
};

struct NumbersOnDiagonal {
  MatrixView m;
  QUADRILLE_HOST_DEVICE double operator()(std::int64_t i, int lane, int) const {
    const std::int64_t slot = find_slot(m, std::int32_t(i), std::int32_t(i));
    return lane == 0 && slot >= 0 ? double(numbers_of(m, slot)) : 0;
  }
};

struct AddToDiagonal {
  MatrixView m;
  const std::int64_t* row;  ///< [block + 1]: where its elements begin
  double* data;
  double alpha;
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t i, int lane, int lanes) const {
    const std::int64_t slot = find_slot(m, std::int32_t(i), std::int32_t(i)), n = row[i + 1] - row[i];
    for (std::int64_t p = lane; p < n && slot >= 0; p += lanes) data[m.at[slot] + p * (n + 1)] += alpha;
  }
};

struct TraceOfRow {
  MatrixView m;
  const std::int64_t* row;
  QUADRILLE_HOST_DEVICE double operator()(std::int64_t i, int lane, int lanes) const {
    const std::int64_t slot = find_slot(m, std::int32_t(i), std::int32_t(i)), n = row[i + 1] - row[i];
    double sum = 0;
    for (std::int64_t p = lane; p < n && slot >= 0; p += lanes) sum += m.data[m.at[slot] + p * (n + 1)];
    return sum;
  }
};

/// Gershgorin's disks of the elements' rows, each a lane's: the diagonal element, and the sum of |A_pq| over the
/// others.
struct DisksOfRow {
  MatrixView m;
  const std::int64_t *row, *column;  ///< [block + 1]: where their elements begin
  const std::int64_t* by_column;     ///< slots sorted by column and then row, for mirror images; null: there are none
  const std::int64_t* column_first;  ///< [column + 1]: of by_column
  double *centre, *radius;           ///< [element row]
  QUADRILLE_HOST_DEVICE void operator()(std::int64_t i, int lane, int lanes) const {
    const std::int64_t n = row[i + 1] - row[i];
    for (std::int64_t p = lane; p < n; p += lanes) {
      double sum = 0, diagonal = 0;
      for (std::int64_t e = by_column != nullptr ? column_first[i] : 0; by_column != nullptr && e < column_first[i + 1];
           ++e) {
        const std::int64_t slot = by_column[e], height = numbers_of(m, slot) / n;
        if (row_of(m, slot) == i) continue;
        for (std::int64_t q = 0; q < height; ++q) sum += std::abs(m.data[m.at[slot] + q * n + p]);
      }
      for (std::int64_t slot = m.first[i]; slot < m.first[i + 1]; ++slot) {
        const std::int32_t j = m.column[slot];
        const std::int64_t width = column[j + 1] - column[j];
        const double* line = m.data + m.at[slot] + p * width;
        for (std::int64_t q = 0; q < width; ++q) {
          if (j == i && q == p) {
            diagonal = line[q];
          } else {
            sum += std::abs(line[q]);
          }
        }
      }
      centre[row[i] + p] = diagonal;
      radius[row[i] + p] = sum;
    }
  }
};

}  // namespace quadrille::block_dft
