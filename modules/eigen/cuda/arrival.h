// Matrices on their way to the device, and room for those on their way back.
#pragma once

#include "modules/eigen/cuda/chain.h"

#include <cstdint>
#include <future>
#include <vector>

namespace quadrille::eigen {

/// Copies rows x columns numbers by columns from the memory of the host, through pinned buffers, or of the device to an
/// array without gaps; they have arrived when this returns.
template <class T>
void send_columns(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld, There<T>* to);

/// Memory of the host whose pages, which come slowly, are made while the device works.
template <class T>
class RoomOfHost {
 public:
  void begin(std::int64_t numbers) {
    made_ = std::async(std::launch::async | std::launch::deferred,
                       [this, numbers] { numbers_.resize(std::size_t(numbers)); });
  }
  /// Empty where nothing was begun. Throws std::bad_alloc.
  std::vector<T> take() {
    if (made_.valid()) made_.get();
    return std::move(numbers_);
  }

 private:
  std::vector<T> numbers_;
  std::future<void> made_;  ///< destroyed first, when it is done
};

}  // namespace quadrille::eigen
