#include "modules/block_dft/matrix/block_matrix.h"

#include "core/error.h"
#include "core/system/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {

template <class T>
BlockMatrix<T>::BlockMatrix(BlockSizes rows, BlockSizes columns, Symmetry symmetry)
    : BlockPattern(std::move(rows), std::move(columns), symmetry) {}

template <class T>
BlockMatrix<T> BlockMatrix<T>::with_pattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry,
                                            std::vector<std::int64_t> first, std::vector<std::int32_t> column) {
  BlockMatrix out =
      with_unset_pattern(std::move(rows), std::move(columns), symmetry, std::move(first), std::move(column));
  std::fill(out.data_.begin(), out.data_.end(), T(0));
  return out;
}

template <class T>
BlockMatrix<T> BlockMatrix<T>::with_unset_pattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry,
                                                  std::vector<std::int64_t> first, std::vector<std::int32_t> column) {
  BlockMatrix out(std::move(rows), std::move(columns), symmetry);
  out.first_ = std::move(first);
  out.column_ = std::move(column);
  out.at_.resize(out.column_.size());
  std::int64_t numbers = 0;
  out.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    out.at_[std::size_t(slot)] = numbers;
    numbers += std::int64_t(out.numbers(i, j));
  });
  require_memory(double(numbers) * sizeof(T), fmt::format("a matrix of {} blocks", out.block_count()));
  out.data_.resize(std::size_t(numbers));
  return out;
}

template <class T>
void BlockMatrix<T>::reserve(std::span<const BlockPlace> places) {
  std::vector<BlockPlace> all;
  all.reserve(places.size() + column_.size());
  for (BlockPlace place : places) {
    require_place(place.row, place.column);
    if (symmetry_ != Symmetry::none && place.row > place.column) std::swap(place.row, place.column);
    require_own(place.row, place.column);
    if (find(place.row, place.column) < 0) all.push_back(place);
  }
  if (all.empty()) return;
  for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { all.push_back({i, j}); });
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());

  std::vector<std::int64_t> first(first_.size());
  std::vector<std::int32_t> column;
  column.reserve(all.size());
  for (const BlockPlace& place : all) {
    ++first[std::size_t(place.row) + 1];
    column.push_back(place.column);
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  BlockMatrix out = with_pattern(rows_, columns_, symmetry_, std::move(first), std::move(column));
  for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    std::copy_n(block(slot), numbers(i, j), out.block(out.find(i, j)));
  });
  *this = std::move(out);
}

template <class T>
void BlockMatrix<T>::put(std::int32_t i, std::int32_t j, std::span<const T> given, bool add) {
  require_place(i, j);
  if (given.size() != numbers(i, j)) {
    throw Error(ErrorCode::invalid_input, fmt::format("block ({}, {}) has {} x {} numbers, but {} were given", i, j,
                                                      rows_.size(i), columns_.size(j), given.size()));
  }
  std::vector<T> mirror;
  if (symmetry_ != Symmetry::none && i >= j) {
    mirror.resize(given.size());
    transpose_block(given.data(), rows_.size(i), columns_.size(j), T(mirror_sign(symmetry_)), mirror.data());
    if (i == j && !std::equal(mirror.begin(), mirror.end(), given.begin())) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("diagonal block {} of a {} matrix must have the same symmetry", i,
                              symmetry_ == Symmetry::symmetric ? "symmetric" : "antisymmetric"));
    }
    std::swap(i, j);
    given = mirror;
  }
  require_own(i, j);
  std::int64_t slot = find(i, j);
  if (slot < 0) {
    slot = lower_slot(i, j);
    column_.insert(column_.begin() + slot, j);
    at_.insert(at_.begin() + slot, std::int64_t(data_.size()));
    data_.resize(data_.size() + given.size());
    add = false;
    for (std::size_t row = std::size_t(i) + 1; row < first_.size(); ++row) ++first_[row];
  }
  T* to = block(slot);
  for (std::size_t k = 0; k < given.size(); ++k) to[k] = add ? to[k] + given[k] : given[k];
}

template <class T>
std::vector<T> BlockMatrix<T>::get(std::int32_t i, std::int32_t j) const {
  require_place(i, j);
  const bool mirrored = symmetry_ != Symmetry::none && i > j;
  const std::int64_t slot = mirrored ? find(j, i) : find(i, j);
  if (slot < 0) return {};
  std::vector<T> out(numbers(i, j));
  if (mirrored) {
    transpose_block(block(slot), rows_.size(j), columns_.size(i), T(mirror_sign(symmetry_)), out.data());
  } else {
    std::copy_n(block(slot), out.size(), out.begin());
  }
  return out;
}

template <class T>
double BlockMatrix<T>::occupation() const {
  double twice = 0;  // what a symmetric matrix stands for without storing it
  if (symmetry_ != Symmetry::none) {
    for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { twice += i == j ? 0 : double(numbers(i, j)); });
  }
  double whole = double(stored()) + twice;
  if (grid()) grid()->ranks().sum(&whole, 1);
  const double all = double(rows_.total()) * double(columns_.total());
  return all == 0 ? 0 : whole / all;
}

template <class T>
std::int64_t BlockMatrix<T>::bytes() const {
  return std::int64_t(data_.size() * sizeof(T) + first_.size() * sizeof(std::int64_t) +
                      column_.size() * (sizeof(std::int32_t) + sizeof(std::int64_t)));
}

template <class T>
std::vector<T> BlockMatrix<T>::to_dense() const {
  const std::int64_t n = columns_.total();
  require_memory(double(rows_.total()) * double(n) * sizeof(T), "a dense copy of a block-sparse matrix");
  std::vector<T> dense(std::size_t(rows_.total() * n));
  for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    const T* from = block(slot);
    const bool mirrored = symmetry_ != Symmetry::none && i != j;
    for (std::int64_t p = rows_.offset(i); p < rows_.offset(i + 1); ++p) {
      for (std::int64_t q = columns_.offset(j); q < columns_.offset(j + 1); ++q, ++from) {
        dense[std::size_t(p * n + q)] = *from;
        if (mirrored) dense[std::size_t(q * n + p)] = T(mirror_sign(symmetry_)) * *from;
      }
    }
  });
  return dense;
}

template <class T>
BlockMatrix<T> BlockMatrix<T>::from_dense(std::span<const T> dense, BlockSizes rows, BlockSizes columns,
                                          Symmetry symmetry, double eps) {
  const std::int64_t n = columns.total();
  if (dense.size() != std::size_t(rows.total() * n)) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("the blocks make a matrix of {} x {}, but the dense one has {} numbers", rows.total(), n,
                            dense.size()));
  }
  BlockMatrix shape(rows, columns, symmetry);
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  const auto copy = [&](std::int32_t i, std::int32_t j, T* to) {
    double squares = 0;
    for (std::int64_t p = rows.offset(i); p < rows.offset(i + 1); ++p) {
      for (std::int64_t q = columns.offset(j); q < columns.offset(j + 1); ++q) {
        const T number = dense[std::size_t(p * n + q)];
        squares += double(number) * double(number);
        if (to != nullptr) *to++ = number;
      }
    }
    return std::sqrt(squares);
  };
  for (std::int32_t i = 0; i < rows.count(); ++i) {
    for (std::int32_t j = symmetry == Symmetry::none ? 0 : i; j < columns.count(); ++j) {
      if (shape.owns(i, j) && !(copy(i, j, nullptr) <= eps)) column.push_back(j);
    }
    first.push_back(std::int64_t(column.size()));
  }
  BlockMatrix out =
      with_pattern(std::move(shape.rows_), std::move(shape.columns_), symmetry, std::move(first), std::move(column));
  out.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    copy(i, j, out.block(slot));
    if (symmetry != Symmetry::none && i == j) {
      symmetrise_block(out.block(slot), rows.size(i), T(mirror_sign(symmetry)));
    }
  });
  return out;
}

template class BlockMatrix<double>;
template class BlockMatrix<float>;

}  // namespace quadrille::block_dft
