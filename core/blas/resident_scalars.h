// Scalars in the memory of the fields: field algebra computes and uses them in the order of the calls, and the host
// reads a snapshot when it wants to, without holding up later calls. On several ranks all have the same scalars:
// devices that reach each other add up their sums themselves; for others the host does, and has the scalars.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/transfer_buffer.h"
#include "core/comm/communicator.h"
#include "core/system/fibers.h"

#include <memory>
#include <new>
#include <type_traits>

namespace quadrille::blas {

template <class Scalars>
class ResidentScalars {
  static_assert(std::is_trivially_copyable_v<Scalars>);

 public:
  /// In the memory of `backend`, for fields over these ranks; not set yet. Collective.
  ResidentScalars(Backend& backend, const Communicator& communicator)
      : communicator_(communicator),
        buffer_(backend.transfer_buffer(sizeof(Scalars))),
        joined_(communicator.size() > 1 ? backend.join_sums(communicator) : nullptr) {}

  /// Sets them for all later calls.
  void set(const Scalars& scalars) {
    buffer_->wait();
    new (buffer_->host()) Scalars(scalars);
    buffer_->send(sizeof(Scalars));
  }
  /// The last call so far has written the snapshot.
  void record() { buffer_->record_use(); }
  /// The scalars after that call; waits for it, not for later ones, and lets other fibers queue theirs first. Where
  /// devices form the sums, no sum of the host's tells ranks of signals: one read in 16 does.
  const Scalars& snapshot() {
    let_others_go_on();
    constexpr unsigned seldom = 16;
    if (joined_ && ++reads_ % seldom == 0) communicator_.agree_on_signals();
    buffer_->wait();
    return *on_host();
  }

  /// In the backend's memory, and the host's snapshot: on the CPU the same.
  Scalars* there() { return static_cast<Scalars*>(buffer_->device()); }
  /// Null where the host adds up sums over ranks, and on one rank.
  JoinedSums* joined() const { return joined_.get(); }
  Scalars* on_host() { return std::launder(reinterpret_cast<Scalars*>(buffer_->host())); }

 private:
  const Communicator& communicator_;
  std::unique_ptr<TransferBuffer> buffer_;
  std::unique_ptr<JoinedSums> joined_;
  unsigned reads_ = 0;
};

}  // namespace quadrille::blas
