// A factor of a product in the order in which thread blocks read it.
//
// The outer side of A are its rows, that of B its columns; the inner side is the one that is summed over. `width`
// pieces of the outer side make a panel. What a panel has at one inner piece k is an entry: its pieces lie one behind
// the other, so that one copy brings them. A piece is stored in groups of 8 inner elements: first the even ones
// of all outer rows (A as it is, B transposed), row by row, then the odd ones: lanes that read 4 elements of 8 rows
// meet no bank of shared memory twice, and have what a matrix instruction takes in the order in which it takes it. The
// last group may have fewer elements, padded by zeros to 16 bytes; up to 4 are not divided. Numbers are there in double
// and, for mixed precision, rounded to TF32 (in 4 bytes) as well.
#pragma once

#include "modules/block_dft/product/cuda/pieces.h"

namespace quadrille::block_dft {

/// Parts of the inner side, whose pieces are in an order in which parts ascend. The pieces of a part lie together in a
/// factor's data, so that they can be brought alone (device_cannon.h).
struct InnerParts {
  int count;
  DeviceArray<std::uint32_t> of_piece;  ///< [inner piece]
};

/// A matrix in one factor's place; of its outer side only the blocks that have pieces.
struct FactorSource {
  const DeviceMatrix::Data& matrix;
  bool outer_is_column;  ///< of what is stored
  const Pieces& outer;
  const Pieces& inner;
  int width;
  const double* norms;                ///< [slot]; null: not needed
  bool single;                        ///< also in single precision
  const InnerParts* parts = nullptr;  ///< null: one
  bool numbers = true;                ///< false: only where they would lie; the matrix has none
};

/// An entry's pieces in one format.
template <class T>
struct PackedNumbers {
  static constexpr int of_sixteen = 16 / int(sizeof(T));  ///< in 16 bytes
  DeviceArray<std::uint32_t> at;                          ///< [entry]: of its part's data, in 16 bytes
  DeviceArray<T> data;
  std::vector<std::int64_t> part_at;  ///< [part + 1]: of data, in 16 bytes
};

struct PackedFactor {
  std::int32_t panels = 0;
  std::int64_t pieces = 0, entries = 0;
  DeviceArray<std::int64_t> panel_first;  ///< [panel + 1]: of entries
  // [entry], in ascending k inside of a panel
  DeviceArray<std::int32_t> k, panel;
  DeviceArray<std::uint32_t> mask;  ///< bit w: piece w of the panel is there
  DeviceArray<std::int64_t> first_piece;
  DeviceArray<double> norms;  ///< [piece]: of its block; if the source has them
  PackedNumbers<double> full;
  PackedNumbers<float> single;  ///< if the source wants them
  // [outer block]: blocks along the inner side, and their elements
  DeviceArray<std::int32_t> outer_blocks, outer_elements;

  /// Of the device's memory.
  std::int64_t bytes() const {
    constexpr std::int64_t of_entry = 4 * 4 + 8, of_block = 2 * 4;
    return 8 * full.data.count() + 4 * single.data.count() + of_entry * entries + 8 * norms.count() +
           of_block * outer_blocks.count();
  }
  template <class T>
  const PackedNumbers<T>& numbers() const {
    if constexpr (sizeof(T) == sizeof(double)) {
      return full;
    } else {
      return single;
    }
  }
};

/// The panels of an entry, for kernels.
struct PackedView {
  const std::int64_t* panel_first;
  const std::int32_t *k, *panel;
  const std::uint32_t *at, *single_at, *mask;
  const std::int64_t* first_piece;
  const double* norms;
};

inline PackedView view_of(const PackedFactor& f) {
  return {f.panel_first.get(), f.k.get(),    f.panel.get(),       f.full.at.get(),
          f.single.at.get(),   f.mask.get(), f.first_piece.get(), f.norms.get()};
}

/// Errors: ErrorCode::unsupported for memory that does not suffice, and for more than 64 GiB of a factor.
PackedFactor pack(const FactorSource& source);

}  // namespace quadrille::block_dft
