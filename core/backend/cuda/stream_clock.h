// Times of work on the backend's stream.
#pragma once

#include "core/backend/cuda/runtime.h"

namespace quadrille::cuda {

/// Seconds between two points of the stream.
class StreamClock {
 public:
  StreamClock() {
    for (cudaEvent_t& event : events_) QUADRILLE_CUDA_CHECK(cudaEventCreate(&event));
  }
  ~StreamClock() {
    for (cudaEvent_t event : events_) (void)cudaEventDestroy(event);
    (void)cudaGetLastError();
  }
  StreamClock(const StreamClock&) = delete;
  StreamClock& operator=(const StreamClock&) = delete;

  /// What `call` asks for takes; waits for it.
  template <class Call>
  double seconds(Call&& call) {
    float milliseconds = 0;
    QUADRILLE_CUDA_CHECK(cudaEventRecord(events_[0], stream()));
    call();
    QUADRILLE_CUDA_CHECK(cudaEventRecord(events_[1], stream()));
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(events_[1]));
    QUADRILLE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]));
    return 1e-3 * milliseconds;
  }

 private:
  cudaEvent_t events_[2]{};
};

}  // namespace quadrille::cuda
