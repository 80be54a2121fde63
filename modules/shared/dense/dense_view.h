// Dense matrices in somebody else's memory, in either storage order.
#pragma once

#include <cstdint>

namespace quadrille {

/// A matrix of rows x cols numbers whose element (i, j) is data[i * ld + j] when stored by rows, data[j * ld + i] when
/// stored by columns. Owns nothing; transposing it is free.
template <class T>
struct DenseView {
  T* data = nullptr;
  std::int64_t rows = 0, cols = 0, ld = 0;
  bool by_rows = false;

  T& operator()(std::int64_t i, std::int64_t j) const { return by_rows ? data[i * ld + j] : data[j * ld + i]; }

  DenseView block(std::int64_t i, std::int64_t j, std::int64_t block_rows, std::int64_t block_cols) const {
    return {block_rows > 0 && block_cols > 0 ? &(*this)(i, j) : data, block_rows, block_cols, ld, by_rows};
  }
  DenseView transposed() const { return {data, cols, rows, ld, !by_rows}; }
  DenseView<const T> constant() const { return {data, rows, cols, ld, by_rows}; }
  /// A matrix of the same shape and order in other memory, without gaps.
  template <class U>
  DenseView<U> packed(U* memory) const {
    return {memory, rows, cols, line_length(), by_rows};
  }

  /// Lines are what is stored without gaps: rows or columns.
  std::int64_t lines() const { return by_rows ? rows : cols; }
  std::int64_t line_length() const { return by_rows ? cols : rows; }
  T* line(std::int64_t number) const { return data + number * ld; }
};

}  // namespace quadrille
