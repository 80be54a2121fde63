// Scalars that stay where fields are: field algebra forms and uses them in the order of the calls, and the host sees
// them when it wants to, without holding up what is asked for. On several ranks all have the same: devices that reach
// each other add up their sums themselves; for others the host does, and has the scalars.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/transfer_buffer.h"
#include "core/comm/communicator.h"

#include <memory>
#include <new>
#include <type_traits>

namespace quadrille::blas {

template <class Scalars>
class Held {
  static_assert(std::is_trivially_copyable_v<Scalars>);

 public:
  /// In the memory of `backend`, for fields over these ranks; not set yet. Collective.
  Held(Backend& backend, const Communicator& communicator)
      : communicator_(communicator),
        buffer_(backend.transfer_buffer(sizeof(Scalars))),
        joined_(communicator.size() > 1 ? backend.join_sums(communicator) : nullptr) {}

  /// What they are for everything that is asked for from now on.
  void set(const Scalars& scalars) {
    buffer_->wait();
    new (buffer_->host()) Scalars(scalars);
    buffer_->send(sizeof(Scalars));
  }
  /// The last operation that was asked for shows them to the host.
  void mark() { buffer_->mark(); }
  /// What that operation has shown; waits for it, and for nothing that was asked for later. As no sum of the host's
  /// lets ranks know of signals where devices form them, one look in 16 does.
  const Scalars& shown_to_host() {
    constexpr unsigned seldom = 16;
    if (joined_ && ++looks_ % seldom == 0) communicator_.agree_on_signals();
    buffer_->wait();
    return *on_host();
  }

  /// On the backend's side, and where it shows them: on the CPU the same memory.
  Scalars* there() { return static_cast<Scalars*>(buffer_->device()); }
  /// Null where the host adds up sums over ranks, or nobody needs to.
  JoinedSums* joined() const { return joined_.get(); }
  Scalars* on_host() { return std::launder(reinterpret_cast<Scalars*>(buffer_->host())); }

 private:
  const Communicator& communicator_;
  std::unique_ptr<TransferBuffer> buffer_;
  std::unique_ptr<JoinedSums> joined_;
  unsigned looks_ = 0;
};

}  // namespace quadrille::blas
