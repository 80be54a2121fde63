// Scalars that stay where fields are: field algebra forms and uses them in the order of the calls, and the host sees
// them when it wants to, without holding up what is asked for.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/transfer_buffer.h"

#include <memory>
#include <new>
#include <type_traits>

namespace quadrille::blas {

template <class Scalars>
class Held {
  static_assert(std::is_trivially_copyable_v<Scalars>);

 public:
  /// In the memory of `backend`; not set yet.
  explicit Held(Backend& backend) : buffer_(backend.transfer_buffer(sizeof(Scalars))) {}

  /// What they are for everything that is asked for from now on.
  void set(const Scalars& scalars) {
    buffer_->wait();
    new (buffer_->host()) Scalars(scalars);
    buffer_->send(sizeof(Scalars));
  }
  /// The last operation that was asked for ends an iteration: it shows them to the host.
  void mark() { buffer_->mark(); }
  /// What that operation has shown; waits for it, and for nothing that was asked for later.
  const Scalars& shown_to_host() {
    buffer_->wait();
    return *on_host();
  }

  /// On the backend's side, and where it shows them: on the CPU the same memory.
  Scalars* there() { return static_cast<Scalars*>(buffer_->device()); }
  Scalars* on_host() { return std::launder(reinterpret_cast<Scalars*>(buffer_->host())); }

 private:
  std::unique_ptr<TransferBuffer> buffer_;
};

}  // namespace quadrille::blas
