// What a PinnedMatrix holds.
#pragma once

#include "core/backend/cuda/owned.h"
#include "modules/block_dft/device.h"

#include <vector>

namespace quadrille::block_dft {

struct PinnedMatrix::Data {
  BlockSizes rows, columns;
  Symmetry symmetry = Symmetry::none;
  std::vector<std::int64_t> first{0}, at{0};  ///< [row + 1]: of slots; [slot + 1]: of numbers, in the order of slots
  std::vector<std::int32_t> column;           ///< [slot]
  cuda::PinnedMemory memory;
  std::int64_t room = 0;  ///< of memory, in numbers

  double* numbers() const { return reinterpret_cast<double*>(memory.get()); }
  /// Room for so many numbers, of which the first `kept` stay. Errors: NotEnoughMemory.
  void make_room(std::int64_t wanted, std::int64_t kept);
  /// Sets `at` for the blocks in `column`.
  void find_places();
};

}  // namespace quadrille::block_dft
