// The CPU backend: aligned memory, first touched by the threads that will use it.
#include "core/backend/backend.h"
#include "core/backend/cpu/driver_memory.h"
#include "core/backend/registry.h"
#include "core/backend/transfer_buffer.h"
#include "core/blas/call.h"
#include "core/error.h"
#include "core/layout/lattice.h"
#include "core/simd/isa.h"
#include "core/system/aligned_memory.h"
#include "core/system/memory.h"
#include "core/system/team.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>

namespace quadrille {
namespace {

constexpr std::size_t small_page = 4096;

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

/// Both sides are the same memory, in which kernels have done their work when they return.
class HostBuffer final : public TransferBuffer {
 public:
  explicit HostBuffer(std::size_t bytes) : memory_(static_cast<std::byte*>(allocate_aligned(bytes))) {
    if (!memory_) {
      throw NotEnoughMemory(fmt::format("out of memory: a transfer buffer needs {} bytes", bytes));
    }
  }
  std::byte* host() override { return memory_.get(); }
  void* device() override { return memory_.get(); }
  void send(std::size_t) override {}
  void fetch(std::size_t) override {}
  void record_use() override {}
  void wait() override {}

 private:
  std::unique_ptr<std::byte, FreeAligned> memory_;
};

/// How many memories this machine has, each near to some of its cores (NUMA nodes).
int memory_places() {
  std::string nodes;
  std::getline(std::ifstream("/sys/devices/system/node/online") >> std::ws, nodes);
  return std::max(1, count_cpus(nodes));
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
    require_memory(double(bytes), "a field");
    void* memory = allocate_aligned(bytes, huge_page);
    if (memory == nullptr) {
      throw NotEnoughMemory(fmt::format("not enough memory: a field needs {}, {} are free; other fields hold {}",
                                        bytes_text(double(bytes)), bytes_text(memory_here().free),
                                        bytes_text(double(allocated_bytes()))));
    }
    if (poisons_memory || places_ > 1) touch(static_cast<char*>(memory), bytes);
    const std::size_t now = allocated_ += bytes;
    for (std::size_t peak = peak_; peak < now && !peak_.compare_exchange_weak(peak, now);) {
    }
    ++allocations_;
    return memory;
  }

  void release(void* memory, std::size_t bytes) noexcept override {
    std::free(memory);
    allocated_ -= bytes;
  }

  void copy_in(void* to, const void* host, std::size_t bytes) override { std::memcpy(to, host, bytes); }
  void copy_out(void* host, const void* from, std::size_t bytes) override { std::memcpy(host, from, bytes); }
  std::unique_ptr<TransferBuffer> transfer_buffer(std::size_t bytes) override {
    return std::make_unique<HostBuffer>(bytes);
  }
  void synchronize() override {}
  MemoryPlace place_of(const void* memory) const override { return place_by_driver(memory); }
  void wait_for(void*) override {}

  void run(const blas::Call& call, double* sums) override { blas::run_on_cpu(call, sums); }

  std::size_t cache_bytes() const override { return cache_bytes_; }
  std::size_t allocated_bytes() const override { return allocated_; }
  std::size_t peak_bytes() const override { return peak_; }
  std::size_t allocations() const override { return allocations_; }
  std::size_t available_bytes() const override { return std::numeric_limits<std::size_t>::max(); }

 private:
  /// Pages go to the memory of the thread that touches them first: touches them as kernels will use them.
  static void touch(char* memory, std::size_t bytes) {
    team_ranges(std::int64_t((bytes + small_page - 1) / small_page), [&](std::int64_t begin, std::int64_t end) {
      const std::size_t at = std::size_t(begin) * small_page, stop = std::min(bytes, std::size_t(end) * small_page);
      if (poisons_memory) {
        std::memset(memory + at, 0xff, stop - at);
      } else {
        for (std::size_t page = at; page < stop; page += small_page) memory[page] = 0;
      }
    });
  }

  const std::size_t cache_bytes_ = last_level_cache();
  const int places_ = memory_places();
  std::atomic<std::size_t> allocated_{0}, peak_{0};
  std::atomic<std::size_t> allocations_{0};
};

}  // namespace

Backend& cpu_backend() {
  static CpuBackend backend;
  return backend;
}

std::string backend_trouble_cpu(int) { return ""; }
Backend& backend_on_cpu(int) { return cpu_backend(); }
int backend_devices_cpu() { return 0; }

}  // namespace quadrille
