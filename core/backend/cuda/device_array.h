// Arrays in the device's memory that work on the backend's stream needs for a while.
#pragma once

#include "core/backend/cuda/runtime.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace quadrille::cuda {

/// `count` elements, not initialized; given back, in the order of the stream, at the end of its life.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::int64_t count, const char* what, const char* advice)
      : data_(static_cast<T*>(take(std::size_t(count) * sizeof(T), what, advice))), count_(count) {}
  ~DeviceArray() { reset(); }
  DeviceArray(DeviceArray&& other) noexcept { swap(other); }
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    DeviceArray moved(std::move(other));
    swap(moved);
    return *this;
  }

  T* get() const { return data_; }
  std::int64_t count() const { return count_; }
  void reset() {
    if (data_ != nullptr) give_back(data_);
    data_ = nullptr;
    count_ = 0;
  }

 private:
  void swap(DeviceArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
  }
  T* data_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace quadrille::cuda
