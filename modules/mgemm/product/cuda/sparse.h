// The sparse products of a split product on the device, and the merge of its sums into C: what the host's code calls.
// Asked for on the backend's stream.
#pragma once

#include "modules/shared/dense/cuda/magnitude_split.h"
#include "modules/shared/dense/dense_view.h"

#include <cstdint>

namespace quadrille::mgemm {

/// Large elements of lines on the device: those of line p are [offsets[p], offsets[p + 1]).
struct LargeLines {
  const std::int64_t* offsets = nullptr;
  cuda::LargeList list{};
  bool any = false;
};

/// Sums of products of parts: element (i, j) is data[j ld + i] times the two units.
struct PartSums {
  const void* data = nullptr;  ///< none: zero
  bool integer = false;        ///< int32, else float
  std::int64_t ld = 0;
  double unit_a = 1, unit_b = 1;
};

/// C = beta C + alpha (sums + D_S L): column j of L, k x n, is line j of `large`; D_S are the elements of D, m x k, not
/// above `delta` in magnitude. C is stored by columns; beta = 0 does not read it. D is not read where `large` has no
/// elements.
void merge_and_multiply_right(double alpha, const PartSums& sums, DenseView<const double> d, double delta,
                              const LargeLines& large, double beta, DenseView<double> c);

/// C += alpha L D: row i of L, m x k, is line i of `large`. C is stored by columns.
void add_multiplied_left(double alpha, const LargeLines& large, DenseView<const double> d, DenseView<double> c);

/// What the two take at most from the device's memory on the way, for C of m x n: panels of D, transposed.
std::int64_t transposed_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

/// Of a C whose size is not known: what they may take beyond the bytes of C in single precision.
std::int64_t transposed_panel_bytes(std::int64_t k);

}  // namespace quadrille::mgemm
