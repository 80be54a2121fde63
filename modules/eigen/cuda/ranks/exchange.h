// Memory of GPUs that ranks share: what one rank has goes to all others.
#pragma once

#include "core/backend/cuda/owned.h"
#include "core/comm/communicator.h"
#include "core/comm/device_links.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace quadrille::eigen {

/// How many ranks work on the host and on the GPU of this one, itself included.
struct Beside {
  int on_host = 0, on_gpu = 0;
};
/// Collective.
Beside ranks_beside(const Communicator& ranks);

/// Between ranks with a GPU each by NCCL; where ranks share a GPU, where there is no NCCL, or where QUADRILLE_TRANSPORT
/// is `pinned`, through memory of the host and MPI. Collective, in the order of the backend's stream. Errors:
/// ErrorCode::unsupported where QUADRILLE_TRANSPORT is `nccl`, which cannot be used; `peer` is as none.
class Exchange {
 public:
  explicit Exchange(const Communicator& ranks);

  const Communicator& ranks() const { return ranks_; }
  /// The bytes of each piece, at `memory` on every rank, become those of `rank`.
  void share(std::span<const DevicePiece> pieces);
  /// share() behind what is queued so far and beside what is queued next, which uses the bytes behind wait_for().
  [[nodiscard]] cuda::OwnedEvent share_beside(std::span<const DevicePiece> pieces);
  static void wait_for(const cuda::OwnedEvent& arrived);
  template <class T>
  void broadcast(T* numbers, std::int64_t count, int root) {
    const DevicePiece piece{root, numbers, std::size_t(count) * sizeof(T)};
    share({&piece, 1});
  }

 private:
  void share_by_links(std::span<const DevicePiece> pieces, cudaStream_t stream);
  void share_by_host(std::span<const DevicePiece> pieces);

  const Communicator& ranks_;
  std::shared_ptr<DeviceLinks> links_;
  cuda::OwnedStream beside_;  ///< urgent, so that products of large matrices do not hold up what travels
  std::vector<std::byte> staging_;
  std::vector<DevicePiece> send_, receive_;
};

}  // namespace quadrille::eigen
