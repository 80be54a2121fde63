// Memory for numbers that vectors load: whole cache lines, and large pages where it is much.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>

namespace quadrille {

constexpr std::size_t cache_line = 64, huge_page = std::size_t(2) << 20;

/// At least `bytes` bytes, aligned to a cache line; from `huge_from` bytes on in pages of 2 MiB where the system gives
/// them: few entries of the TLB cover them, and touching them first takes less long. Freed by std::free. Null when
/// there is not enough memory.
inline void* allocate_aligned(std::size_t bytes, std::size_t huge_from = std::numeric_limits<std::size_t>::max()) {
  const std::size_t unit = bytes < huge_from ? cache_line : huge_page;
  const std::size_t rounded = std::max(unit, (bytes + unit - 1) / unit * unit);
  void* memory = std::aligned_alloc(unit, rounded);
#ifdef MADV_HUGEPAGE
  if (memory != nullptr && unit == huge_page) (void)::madvise(memory, rounded, MADV_HUGEPAGE);  // a wish
#endif
  return memory;
}

/// Frees what allocate_aligned has given.
struct FreeAligned {
  void operator()(void* memory) const { std::free(memory); }
};

/// The same as memory that frees itself. Errors: std::bad_alloc.
inline std::shared_ptr<void> aligned_memory(std::size_t bytes) {
  void* memory = allocate_aligned(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, FreeAligned()};
}

/// For vectors of numbers that are made anew often. The C library takes arrays of 32 MiB and more from the system each
/// time, smaller ones from what was freed before: only the former ask for large pages.
template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    void* memory = allocate_aligned(count * sizeof(T), 16 * huge_page);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

}  // namespace quadrille
