// Memory of the host that vector registers can read and write whole.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace quadrille {

/// At least `bytes` bytes aligned to 64, whose content is left to chance. Errors: std::bad_alloc.
inline std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory == nullptr) throw std::bad_alloc();
  return std::shared_ptr<void>(memory, std::free);
}

}  // namespace quadrille
