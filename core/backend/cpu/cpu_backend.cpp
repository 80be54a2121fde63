// The CPU backend: aligned memory, first touched by the threads that will use it.
#include "core/backend/backend.h"
#include "core/error.h"

#include <fmt/format.h>
#include <omp.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace quadrille {
namespace {

constexpr std::size_t alignment = 64;

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }

  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    if (memory == nullptr) {
      throw Error(ErrorCode::unsupported, fmt::format("out of memory: a field needs {} bytes, {} are in use by others; "
                                                      "use a smaller lattice or a lower precision",
                                                      bytes, allocated_bytes()));
    }
    // Pages go to the memory of the thread that touches them first: touch them as kernels will use them.
#pragma omp parallel
    {
      const std::size_t threads = std::size_t(omp_get_num_threads()), me = std::size_t(omp_get_thread_num());
      const std::size_t begin = rounded * me / threads, end = rounded * (me + 1) / threads;
      std::memset(static_cast<char*>(memory) + begin, 0xff, end - begin);
    }
    allocated_ += bytes;
    ++allocations_;
    return memory;
  }

  void release(void* memory, std::size_t bytes) noexcept override {
    std::free(memory);
    allocated_ -= bytes;
  }

  std::size_t allocated_bytes() const override { return allocated_; }
  std::size_t allocations() const override { return allocations_; }

 private:
  std::atomic<std::size_t> allocated_{0};
  std::atomic<std::size_t> allocations_{0};
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace quadrille
