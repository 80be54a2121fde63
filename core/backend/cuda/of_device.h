// What a process has once for each of its GPUs.
#pragma once

#include "core/backend/cuda/cuda_backend.h"

#include <map>
#include <mutex>

namespace quadrille::cuda {

/// One T for each device. What fields of static life need is made with `new` and lives on, as the backends do.
template <class T>
class OfDevice {
 public:
  /// That of the device that this thread works on: the first time, what `make` gives.
  template <class Make>
  T& here(const Make& make) {
    return of(cuda_backend().ordinal(), make);
  }
  template <class Make>
  T& of(int device, const Make& make) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(device);
    return found != all_.end() ? found->second : all_.emplace(device, make()).first->second;
  }

 private:
  std::mutex mutex_;
  std::map<int, T> all_;
};

}  // namespace quadrille::cuda
