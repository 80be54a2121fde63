// Block-sparse matrices: blocked compressed sparse rows with given block sizes of rows and columns.
//
// A block is stored whole, row by row; blocks that are not stored are zero. A symmetric or antisymmetric matrix stores
// the blocks (i, j) with j >= i only; its diagonal blocks are whole and (anti)symmetric themselves. On a grid of ranks
// each stores its own blocks (block_pattern.h).
#pragma once

#include "core/system/aligned_memory.h"
#include "modules/block_dft/matrix/block_pattern.h"

#include <cstddef>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace quadrille::block_dft {

/// Leaves new numbers of a vector as they lie in memory: who makes them writes them first.
template <class T>
struct UnsetAllocator : AlignedAllocator<T> {
  template <class U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  UnsetAllocator() = default;
  template <class U>
  UnsetAllocator(const UnsetAllocator<U>&) {}  // NOLINT: allocators convert
  template <class U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <class U, class... Arguments>
  void construct(U* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) U(std::forward<Arguments>(arguments)...);
  }
};

/// T is double or float.
template <class T>
class QUADRILLE_API BlockMatrix : public BlockPattern {
 public:
  BlockMatrix() = default;
  /// A matrix of zeros, without blocks. Errors: ErrorCode::invalid_input for a symmetry whose rows and columns are cut
  /// differently.
  BlockMatrix(BlockSizes rows, BlockSizes columns, Symmetry symmetry = Symmetry::none);

  /// Makes sure that there are blocks at these places (with a symmetry, at (j, i) for i > j); new ones are zero. Blocks
  /// that are there stay, but may move in memory. Errors: ErrorCode::invalid_input for a place outside of the matrix,
  /// or, on a grid, of another rank: as of put().
  void reserve(std::span<const BlockPlace> places);
  /// Replaces the block (i, j) by rows(i) x columns(j) numbers, row by row, or adds them to it. A block that is not
  /// there is made, which costs as many moves as there are blocks: reserve() many at once. With a symmetry (i, j), i >
  /// j, sets (j, i); a diagonal block must be (anti)symmetric to the last bit. Errors: ErrorCode::invalid_input.
  void put(std::int32_t i, std::int32_t j, std::span<const T> block, bool add = false);
  /// A copy of the block (i, j), row by row, made by symmetry where it is; empty where there is no block, or none here.
  std::vector<T> get(std::int32_t i, std::int32_t j) const;

  /// Where a block begins in data().
  std::int64_t offset(std::int64_t slot) const { return at_[std::size_t(slot)]; }
  T* block(std::int64_t slot) { return data_.data() + offset(slot); }
  const T* block(std::int64_t slot) const { return data_.data() + offset(slot); }

  /// Numbers that are stored here.
  std::int64_t stored() const { return std::int64_t(data_.size()); }
  /// The share of the numbers of all ranks in those that could be. Collective.
  double occupation() const;
  /// Of numbers and index, here.
  std::int64_t bytes() const;
  std::span<T> data() { return data_; }
  std::span<const T> data() const { return data_; }

  /// A matrix with zero blocks at these places: row i has the columns [first[i], first[i + 1]) of `column`, ascending.
  static BlockMatrix with_pattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry,
                                  std::vector<std::int64_t> first, std::vector<std::int32_t> column);
  /// The same with numbers that the caller has to set.
  static BlockMatrix with_unset_pattern(BlockSizes rows, BlockSizes columns, Symmetry symmetry,
                                        std::vector<std::int64_t> first, std::vector<std::int32_t> column);

  /// Row-major rows().total() x columns().total(), of this rank's blocks. from_dense leaves out blocks whose Frobenius
  /// norm is at most `eps`; with a symmetry it reads the blocks (i, j), j >= i, and takes diagonal blocks as (D +- D^T)
  /// / 2.
  std::vector<T> to_dense() const;
  static BlockMatrix from_dense(std::span<const T> dense, BlockSizes rows, BlockSizes columns,
                                Symmetry symmetry = Symmetry::none, double eps = 0);

 private:
  std::vector<std::int64_t> at_;  // [slot]
  std::vector<T, UnsetAllocator<T>> data_;
};

/// +1, or -1 of an antisymmetric matrix: what a stored block is multiplied by when it is read as its mirror image.
inline int mirror_sign(Symmetry symmetry) { return symmetry == Symmetry::antisymmetric ? -1 : 1; }

/// to = sign from^T; `from` is rows x columns, both row by row.
template <class T>
void transpose_block(const T* from, std::int32_t rows, std::int32_t columns, T sign, T* to) {
  for (std::int32_t p = 0; p < rows; ++p) {
    for (std::int32_t q = 0; q < columns; ++q)
      to[std::int64_t(q) * rows + p] = sign * from[std::int64_t(p) * columns + q];
  }
}

/// block = (block + sign block^T) / 2 of an n x n block.
template <class T>
void symmetrise_block(T* block, std::int32_t n, T sign) {
  for (std::int64_t p = 0; p < n; ++p) {
    for (std::int64_t q = 0; q <= p; ++q) {
      const T mean = (block[p * n + q] + sign * block[q * n + p]) / 2;
      block[p * n + q] = mean;
      block[q * n + p] = sign * mean;
    }
  }
}

}  // namespace quadrille::block_dft
