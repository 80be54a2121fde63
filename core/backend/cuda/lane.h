// A stream, what travels and the sums that arrive on it.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/cuda/owned.h"
#include "core/backend/cuda/staging.h"

#include <cstddef>
#include <optional>

namespace quadrille::cuda {

class CudaBackend;

constexpr const char* field_advice = "use a smaller lattice, a lower precision or fewer numbers per link";

class CudaLane final : public Lane {
 public:
  /// On the current device, which is that of `home`.
  explicit CudaLane(CudaBackend& home);
  ~CudaLane() override;
  CudaLane(const CudaLane&) = delete;
  CudaLane& operator=(const CudaLane&) = delete;

  CudaBackend& home() const { return home_; }
  cudaStream_t stream() const { return stream_.get(); }
  Staging& staging() { return staging_ ? *staging_ : staging_.emplace(stream()); }
  /// For a thread that works in this lane; see runtime.h.
  Reduction begin_reduction(std::size_t blocks, int sums);
  void finish_reduction(const Reduction& reduction, double* sums, int count) const;

 private:
  CudaBackend& home_;
  OwnedStream stream_;
  std::optional<Staging> staging_;
  PinnedMemory arrivals_;
  Reduction reduction_{};
  std::size_t partial_sums_ = 0;
};

}  // namespace quadrille::cuda
