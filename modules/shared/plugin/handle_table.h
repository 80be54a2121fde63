// The handles that are out, as values, of the C API and of modules: the only state that they keep for the whole
// process.
//
// A handle is 8 bits of kind, 32 of generation and 24 of slot in a pointer that is never followed (on machines of
// today it could not be). Slots are used again, each time with another generation.
#pragma once

#include "core/api.h"
#include "modules/shared/plugin/handles.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::c_calls {

enum class Kind : std::uint8_t {
  none = 0,
  context = 0x51,
  gauge = 0x52,
  op = 0x53,
  solver = 0x54,
  propagator = 0x55,
  block_grid = 0x56,
  block_matrix = 0x57,
  pair_forces = 0x58,
  eigen_factor = 0x59,
  eigen_grid = 0x5a
};

/// Of any value; none of those below where it is no handle.
QUADRILLE_API Kind kind_of(std::uint64_t handle);

/// "context", "gauge field", "block matrix", as messages call it.
const char* name_of(Kind kind);

class QUADRILLE_API HandleTable {
 public:
  /// `owner`: the context that ends this handle with itself; null: nobody but destroy() does.
  std::uint64_t add(Kind kind, std::shared_ptr<void> object, const void* owner);
  /// Throws InvalidHandle, saying what it is instead, unless the handle is one of this kind.
  std::shared_ptr<void> find(Kind kind, std::uint64_t handle);
  /// The object lives as long as somebody else holds it. Throws as find() does.
  std::shared_ptr<void> remove(Kind kind, std::uint64_t handle);
  /// Ends all handles of this owner.
  void remove_owned(const void* owner);

 private:
  struct Slot {
    std::uint32_t generation = 0;
    Kind kind = Kind::none;
    std::shared_ptr<void> object{};
    const void* owner = nullptr;
  };

  Slot& at(Kind kind, std::uint64_t handle);

  std::mutex mutex_;
  std::deque<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

struct QUADRILLE_API InvalidHandle {
  const char* wanted;
  const char* why;
  const char* argument = nullptr;  ///< of the call, where that is known

  /// "the block matrix h has been destroyed".
  std::string message() const;
};

/// Never destroyed: hosts may free what they hold at any point of their end.
QUADRILLE_API HandleTable& handles();

/// The object behind a handle, which is the `argument` of a call: Object::kind says of which kind it must be. Throws
/// InvalidHandle.
template <class Object, class Handle>
std::shared_ptr<Object> find(const Handle* handle, const char* argument = nullptr) {
  try {
    return std::static_pointer_cast<Object>(handles().find(Object::kind, reinterpret_cast<std::uintptr_t>(handle)));
  } catch (InvalidHandle& invalid) {
    invalid.argument = argument;
    throw;
  }
}

/// The same, but null instead of an exception: for what a call looks at before it checks its arguments.
template <class Object, class Handle>
std::shared_ptr<Object> find_if_valid(const Handle* handle) noexcept {
  try {
    return find<Object>(handle);
  } catch (const InvalidHandle&) {
    return nullptr;
  }
}

/// A new handle that is destroyed by itself.
template <class Handle, class Object>
Handle* handle_of(std::shared_ptr<Object> object) {
  return reinterpret_cast<Handle*>(std::uintptr_t(handles().add(Object::kind, std::move(object), nullptr)));
}

/// The object ends when no call works on it any more. For a handle that is null or destroyed nothing happens.
template <class Object, class Handle>
void destroy_if_valid(const Handle* handle) noexcept {
  try {
    (void)handles().remove(Object::kind, reinterpret_cast<std::uintptr_t>(handle));
  } catch (const InvalidHandle&) {
  }
}

}  // namespace quadrille::c_calls
