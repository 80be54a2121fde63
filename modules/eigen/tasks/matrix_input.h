// The matrices of a job: in files, or generated.
#pragma once

#include "modules/eigen/problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// A matrix as a job names it.
struct MatrixInput {
  std::string name;  ///< A or B, for messages
  std::string file, dataset;
  std::string generated;  ///< its kind; empty for a file
  std::int64_t size = 0;  ///< of a generated one
  std::uint64_t seed = 1;
  bool generated_complex = false;
  /// The half that a file is read for; none: both, which must agree.
  std::optional<Triangle> triangle;
};

/// What a matrix is before it is read; only CP2K's dumps must be read for their size, which is 0 unless
/// `read_for_size`. Errors: those of elements_of_file.
struct MatrixHead {
  std::int64_t n = 0;
  bool complex = false;
};
MatrixHead head_of(const MatrixInput& input, bool read_for_size);

/// Elements of a file must agree with those of the transpose, conjugated, up to this share of the largest; they are
/// averaged where they differ.
constexpr double largest_asymmetry = 1e-10;

/// Where a matrix differs most from its conjugated transpose.
struct Asymmetry {
  double size = 0;
  std::int64_t row = 0, column = 0;

  /// Whether it is larger, or as large and earlier.
  bool before(const Asymmetry& other) const {
    const bool earlier = column < other.column || (column == other.column && row < other.row);
    return size > other.size || (size == other.size && size > 0 && earlier);
  }
};
/// Errors: ErrorCode::invalid_input if that is too much beside the largest element, naming the place, whose row and
/// column the file counts from `base`.
void require_agreement(const Asymmetry& worst, double largest, bool complex, const MatrixInput& input, int base);

/// n x n by columns, of which the lower triangle counts. Errors: those of elements_of_file; ErrorCode::invalid_input
/// for a matrix that is not Hermitian, naming the place and the difference.
template <class T>
std::vector<T> read_matrix(const MatrixInput& input);

}  // namespace quadrille::eigen
