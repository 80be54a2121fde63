// Memory for the numbers of matrices.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace quadrille::block_dft {

/// An allocator whose large arrays ask for pages of 2 MiB. The C library takes arrays of 32 MiB and more from the
/// system anew each time, smaller ones from what was freed before: a product makes a new C each time, and first
/// touching it in pages of 4 KiB takes long beside the products of a sparse one.
template <class T>
struct PagedAllocator {
  using value_type = T;
  PagedAllocator() = default;
  template <class U>
  PagedAllocator(const PagedAllocator<U>&) {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    constexpr std::size_t page = std::size_t(2) << 20, line = 64, from_system = std::size_t(32) << 20;
    const bool large = count * sizeof(T) >= from_system;
    const std::size_t unit = large ? page : line;
    const std::size_t bytes = (count * sizeof(T) + unit - 1) / unit * unit;
    void* memory = std::aligned_alloc(unit, bytes);
    if (memory == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    if (large) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t) noexcept { std::free(memory); }
  bool operator==(const PagedAllocator&) const { return true; }
};

}  // namespace quadrille::block_dft
