// Between C and C++: from handles to objects, from exceptions to statuses, and a call's turn in its context.
#pragma once

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/log.h"
#include "core/system/thread_count.h"
#include "input/capi/objects.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace quadrille::capi {

/// Ends a call with QUADRILLE_STOPPED.
struct Stopped {
  std::string where;
};

/// One call at work in a context: it has the context's lane, threads, log and kernel log. Throws
/// QUADRILLE_INVALID_INPUT on another thread than that of a module's task in its context. Throws
/// QUADRILLE_INVALID_INPUT within a callback of the same context.
class Turn {
 public:
  explicit Turn(Context& context);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Context& context_;
  std::unique_lock<std::mutex> turn_;
  std::optional<UseLane> lane_;
  UseLog log_;
  UseKernelLog kernels_;
  CallThreads threads_;
};

/// The status of the exception that is being handled. Its message goes to the thread, and to the context if there is
/// one whose turn this thread has.
quadrille_status report_failure(Context* context) noexcept;
quadrille_status fail(Context* context, quadrille_status status, const std::string& message) noexcept;

/// Runs body(object), in turn, and gives its status, or what its exception stands for. An object that the body has
/// ended ends in turn, too.
template <class Object, class Handle, class Body>
quadrille_status with(const Handle* handle, const Body& body) noexcept {
  std::shared_ptr<Context> home;  // ends last
  try {
    std::shared_ptr<Object> object = find<Object>(handle);
    home = object->context().shared_from_this();
    const Turn turn(*home);
    const auto in_turn = [&] {
      try {
        return body(object);
      } catch (...) {
        return report_failure(home.get());
      }
    };
    const quadrille_status status = in_turn();
    object.reset();
    return status;
  } catch (...) {
    return report_failure(nullptr);
  }
}

/// with() for a call that makes something: null in *made, or a handle of what body(object) gives, which demands the
/// address `made` where it checks what else it was given.
template <class Object, class Handle, class Made, class Body>
quadrille_status make(const Handle* handle, Made** made, const Body& body) noexcept {
  if (made != nullptr) *made = nullptr;
  return with<Object>(handle, [&](const std::shared_ptr<Object>& object) {
    auto fresh = body(object);
    constexpr Kind kind = decltype(fresh)::element_type::kind;
    *made = reinterpret_cast<Made*>(std::uintptr_t(handles().add(kind, std::move(fresh), &object->context())));
    return QUADRILLE_DONE;
  });
}

/// Throws ErrorCode::invalid_input on a thread that may not use the context's MPI. After the end of MPI every thread
/// may end what is left.
void demand_mpi_thread(const Context& context);

/// Ends a handle; its object ends when nothing is made from it any more.
template <class Object, class Handle>
quadrille_status destroy(const Handle* handle) noexcept {
  return with<Object>(handle, [&](const std::shared_ptr<Object>& object) {
    demand_mpi_thread(object->context());
    handles().remove(Object::kind, reinterpret_cast<std::uintptr_t>(handle));
    return QUADRILLE_DONE;
  });
}

/// What all ranks must have alike in a call.
struct SameCall {
  const char* name;
  const char* words = nullptr;
  std::size_t count = 0;
  int product = 0;
};

/// The first half of a call that the ranks of a context make together: runs `check`, which must not use a communicator,
/// on each. None goes on when it fails on one or when they are in different calls. Throws what `check` throws;
/// FailedElsewhere where it has passed; ErrorCode::invalid_input for different calls, and where MPI cannot be used.
void together(const Context& context, const SameCall& call, const std::function<void()>& check);

/// The second half: what `make` gives on every rank, or nothing on any. It may use a communicator, but then it must
/// fail on all ranks alike, or the others wait.
template <class Make>
auto made_together(const Context& context, const Make& make) {
  decltype(make()) made;
  all_or_none(*context.on.all, [&] { made = make(); });
  return made;
}

/// Throws QUADRILLE_INVALID_INPUT, naming what is missing, for a null pointer.
template <class T>
T* required(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(ErrorCode::invalid_input, std::string(what) + " is a null pointer");
  return pointer;
}
constexpr const char* new_handle = "the address for the new handle";

}  // namespace quadrille::capi
