// The CPU backend: aligned memory, first touched by the threads that will use it.
#include "core/backend/backend.h"
#include "core/blas/call.h"
#include "core/convert.h"
#include "core/error.h"
#include "core/isa.h"
#include "core/lattice.h"

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace quadrille {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t(2) << 20;

/// How many CPUs a list like "0-3,8" names; 0 when it is none.
int count_cpus(const std::string& list) {
  std::istringstream in(list);
  int count = 0;
  for (std::string range; std::getline(in, range, ',');) {
    int first = 0, last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    if (read > 0) count += read == 2 ? last - first + 1 : 1;
  }
  return count;
}

/// The highest cache of the first CPU as Linux describes it, times the number of such caches. (sysconf may tell the
/// sum over a socket of which a virtual machine has a part.)
std::size_t last_level_cache() {
  const std::string cpus = "/sys/devices/system/cpu/";
  const auto line = [](const std::string& path) {
    std::string text;
    std::getline(std::ifstream(path) >> std::ws, text);
    return text;
  };
  std::size_t bytes = std::size_t(32) << 20;  // when nothing is known
  for (int index = 0; index < 8; ++index) {
    const std::string cache = cpus + "cpu0/cache/index" + std::to_string(index) + "/";
    long kib = 0;
    if (std::sscanf(line(cache + "size").c_str(), "%ldK", &kib) != 1 || kib <= 0) continue;  // levels in rising order
    const int sharing = std::max(1, count_cpus(line(cache + "shared_cpu_list")));
    const int all = std::max(sharing, count_cpus(line(cpus + "online")));
    bytes = (std::size_t(kib) << 10) * std::size_t((all + sharing - 1) / sharing);
  }
  return bytes;
}

class CpuBackend final : public Backend {
 public:
  std::string name() const override { return "cpu"; }
  std::string architecture(const Layout& layout, Precision precision) const override {
    return layout.grouped() ? "host" : to_string(isa_of_lanes(layout.lanes, precision));
  }
  std::string device() const override { return "the CPU"; }
  Layout layout(const Lattice& lattice, Precision precision) const override {
    return {choose_lanes(lattice.dims(), precision, active_isa())};
  }
  bool host_memory() const override { return true; }

  void* allocate(std::size_t bytes) override {
    const std::size_t rounded = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
    const std::size_t page = rounded < huge_page ? alignment : huge_page;
    void* memory = std::aligned_alloc(page, (rounded + page - 1) / page * page);
    if (memory == nullptr) {
      throw Error(ErrorCode::unsupported, fmt::format("out of memory: a field needs {} bytes, {} are in use by others; "
                                                      "use a smaller lattice or a lower precision",
                                                      bytes, allocated_bytes()));
    }
#ifdef MADV_HUGEPAGE
    if (page == huge_page) madvise(memory, rounded, MADV_HUGEPAGE);  // a wish: few entries of the TLB cover a field
#endif
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

  void copy_in(void* to, const void* host, std::size_t bytes) override { std::memcpy(to, host, bytes); }
  void copy_out(void* host, const void* from, std::size_t bytes) override { std::memcpy(host, from, bytes); }
  void synchronize() override {}

  void convert(Field& dst, const Field& src) override { host::convert(dst, src); }
  void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) override {
    host::rotate(dst, src, g, adjoint);
  }
  blas::Sums run(const blas::Call& call) override { return blas::run_on_cpu(call); }

  std::size_t cache_bytes() const override { return cache_bytes_; }
  std::size_t allocated_bytes() const override { return allocated_; }
  std::size_t allocations() const override { return allocations_; }

 private:
  const std::size_t cache_bytes_ = last_level_cache();
  std::atomic<std::size_t> allocated_{0};
  std::atomic<std::size_t> allocations_{0};
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend backend;
  return backend;
}

}  // namespace quadrille
