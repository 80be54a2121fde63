// Arrays in the device's memory that work on the backend's stream needs for a while.
#pragma once

#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/runtime.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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

/// Numbers of the host in the device's memory.
template <class T>
DeviceArray<T> sent(const std::vector<T>& numbers, const char* what, const char* advice) {
  DeviceArray<T> there(std::int64_t(numbers.size()), what, advice);
  cuda_backend().copy_in(there.get(), numbers.data(), numbers.size() * sizeof(T));
  return there;
}

/// `count` numbers of the device in the host's memory; waits for them.
template <class T>
std::vector<T> fetched(const T* there, std::int64_t count) {
  std::vector<T> numbers(static_cast<std::size_t>(count));
  cuda_backend().copy_out(numbers.data(), there, numbers.size() * sizeof(T));
  return numbers;
}

}  // namespace quadrille::cuda
