#include "modules/shared/plugin/handle_table.h"

#include <new>
#include <utility>

namespace quadrille::c_calls {

namespace {

constexpr int slot_bits = 24, generation_bits = 32;
constexpr std::uint32_t most_slots = (1u << slot_bits) - 1;

constexpr std::uint32_t generation_of(std::uint64_t handle) { return std::uint32_t(handle >> slot_bits); }
constexpr std::uint32_t slot_of(std::uint64_t handle) { return std::uint32_t(handle) & most_slots; }

}  // namespace

Kind kind_of(std::uint64_t handle) { return Kind(handle >> (slot_bits + generation_bits)); }

static_assert(sizeof(void*) == sizeof(std::uint64_t), "handles are 64 bits in a pointer");

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::context: return "context";
    case Kind::gauge: return "gauge field";
    case Kind::op: return "operator";
    case Kind::solver: return "solver";
    case Kind::propagator: return "propagator";
    case Kind::block_grid: return "grid of ranks";
    case Kind::block_matrix: return "block matrix";
    case Kind::pair_forces: return "handle of pair forces";
    case Kind::eigen_factor: return "Cholesky factor";
    case Kind::eigen_grid: return "grid of an eigenproblem";
    case Kind::none: break;
  }
  return nullptr;
}

std::string InvalidHandle::message() const {
  const std::string name = argument == nullptr ? "" : std::string(" ") + argument;
  return std::string("the ") + wanted + name + " " + why;
}

std::uint64_t HandleTable::add(Kind kind, std::shared_ptr<void> object, const void* owner) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (slots_.size() > most_slots) throw std::bad_alloc();
    free_.reserve(slots_.size() + 1);  // so that giving a slot back cannot fail
    slots_.emplace_back();
    free_.push_back(std::uint32_t(slots_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot = {slot.generation + 1, kind, std::move(object), owner};
  return std::uint64_t(kind) << (slot_bits + generation_bits) | std::uint64_t(slot.generation) << slot_bits | index;
}

HandleTable::Slot& HandleTable::at(Kind kind, std::uint64_t handle) {
  const char* wanted = name_of(kind);
  if (handle == 0) throw InvalidHandle{wanted, "is null"};
  const Kind given = kind_of(handle);
  if (name_of(given) == nullptr || slot_of(handle) >= slots_.size()) throw InvalidHandle{wanted, "is not a handle"};
  if (given != kind) throw InvalidHandle{wanted, "is a handle of another kind"};
  Slot& slot = slots_[slot_of(handle)];
  if (slot.kind != kind || slot.generation != generation_of(handle)) throw InvalidHandle{wanted, "has been destroyed"};
  return slot;
}

std::shared_ptr<void> HandleTable::find(Kind kind, std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  return at(kind, handle).object;
}

std::shared_ptr<void> HandleTable::remove(Kind kind, std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  Slot& slot = at(kind, handle);
  free_.push_back(slot_of(handle));
  slot.kind = Kind::none;
  return std::exchange(slot.object, nullptr);
}

void HandleTable::remove_owned(const void* owner) {
  std::vector<std::shared_ptr<void>> ended;  // they end after the lock
  const std::lock_guard lock(mutex_);
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    Slot& slot = slots_[k];
    if (slot.kind == Kind::none || slot.owner != owner) continue;
    ended.push_back(std::exchange(slot.object, nullptr));
    slot.kind = Kind::none;
    free_.push_back(std::uint32_t(k));
  }
}

HandleTable& handles() {
  static auto* const table = new HandleTable;
  return *table;
}

}  // namespace quadrille::c_calls
