// The handles that are out, as values: the only state that the C API keeps for the whole process.
//
// A handle is 8 bits of kind, 32 of generation and 24 of slot in a pointer that is never followed (on machines of
// today it could not be). Slots are used again, each time with another generation.
#pragma once

#include "modules/handles.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace quadrille::capi {

enum class Kind : std::uint8_t { none = 0, context = 0x51, gauge = 0x52, op = 0x53, solver = 0x54, propagator = 0x55 };

/// Of any value; none of those below where it is no handle.
Kind kind_of(std::uint64_t handle);

/// "context", "gauge field", "operator", "solver", "propagator".
const char* name_of(Kind kind);

class HandleTable {
 public:
  /// `owner`: the context that ends this handle with itself.
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

struct InvalidHandle {
  const char* wanted;
  const char* why;
};

/// Never destroyed: hosts may free what they hold at any point of their end.
HandleTable& handles();

}  // namespace quadrille::capi
