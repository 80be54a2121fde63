// What a part of a product may take of the device's memory.
#pragma once

#include <cstdint>
#include <limits>

namespace quadrille::block_dft {

class MemoryBudget {
 public:
  explicit MemoryBudget(double bytes = std::numeric_limits<double>::infinity()) : bytes_(bytes) {}
  double bytes() const { return bytes_; }
  std::int64_t taken() const { return taken_; }
  /// Errors: NotEnoughMemory where that is more than there is.
  void take(std::int64_t bytes);

 private:
  double bytes_;
  std::int64_t taken_ = 0;
};

}  // namespace quadrille::block_dft
