#include "tests/ranks/shortage/heap_peak.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<std::ptrdiff_t> in_use{0}, peak{0};

[[maybe_unused]] void* counted(void* memory) {
  if (memory == nullptr) return memory;
  const auto bytes = std::ptrdiff_t(::malloc_usable_size(memory));
  const std::ptrdiff_t now = in_use.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::ptrdiff_t before = peak.load(std::memory_order_relaxed);
  while (now > before && !peak.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
  return memory;
}

[[maybe_unused]] void uncount(void* memory) {
  if (memory != nullptr) in_use.fetch_sub(std::ptrdiff_t(::malloc_usable_size(memory)), std::memory_order_relaxed);
}

}  // namespace

// AddressSanitizer has a heap of its own.
#ifndef __SANITIZE_ADDRESS__
extern "C" {

void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);

void* malloc(std::size_t bytes) noexcept { return counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) noexcept { return counted(__libc_calloc(count, bytes)); }
void* realloc(void* memory, std::size_t bytes) noexcept {
  uncount(memory);
  void* const made = __libc_realloc(memory, bytes);
  if (made == nullptr && bytes != 0) counted(memory);  // it is still there
  return counted(made);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept { return counted(__libc_memalign(alignment, bytes)); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept { return memalign(alignment, bytes); }
int posix_memalign(void** to, std::size_t alignment, std::size_t bytes) noexcept {
  void* const made = memalign(alignment, bytes);
  if (made != nullptr) *to = made;
  return made == nullptr ? ENOMEM : 0;
}
void free(void* memory) noexcept {
  uncount(memory);
  __libc_free(memory);
}

}  // extern "C"
#endif

namespace quadrille::testing {

double heap_now() {
  peak = in_use.load();
  return double(peak);
}

double heap_peak() { return double(peak); }

}  // namespace quadrille::testing
