// Measures what links in a host's memory cost a host code on a GPU, beside cudaMemcpy of the same memory:
//
//   host_links_cuda [x y z t = 32 32 32 64] [repetitions = 7]
//
// Links are hot ones in ILDG's order, double precision, in memory of malloc that has been written before, and in pinned
// memory. `update` is quadrille_gauge_update with its check for SU(3) while an operator holds the links, whose form of
// them is made anew; `spinor` the hopping term of one spinor from and to such memory.
#include "quadrille.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace host = quadrille::host;

void check(cudaError_t status) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(status));
  std::exit(1);
}

/// Median of milliseconds.
double milliseconds(int repetitions, const std::function<void()>& call) {
  std::vector<double> all;
  for (int k = 0; k <= repetitions; ++k) {
    const auto start = std::chrono::steady_clock::now();
    call();
    check(cudaDeviceSynchronize());
    const double took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (k > 0) all.push_back(took);  // the first warms up
  }
  std::nth_element(all.begin(), all.begin() + repetitions / 2, all.end());
  return all[std::size_t(repetitions / 2)];
}

struct DeviceMemory {
  explicit DeviceMemory(std::size_t bytes) { check(cudaMalloc(&at, bytes)); }
  ~DeviceMemory() { (void)cudaFree(at); }
  void* at = nullptr;
};

struct Case {
  const char* memory;
  void* links;
  void* in;
  void* out;
};

}  // namespace

int main(int argc, char** argv) {
  int dims[4] = {32, 32, 32, 64};
  for (int mu = 0; mu < 4 && argc > 4; ++mu) dims[mu] = std::atoi(argv[1 + mu]);
  const int repetitions = argc > 5 ? std::atoi(argv[5]) : 7;
  const std::size_t sites = std::size_t(dims[0]) * dims[1] * dims[2] * dims[3];
  const std::size_t bytes = sites * 72 * sizeof(double), spinor_bytes = sites * 24 * sizeof(double);
  try {
    host::Context context("{backend: cuda}");
    const std::string extents = "[" + std::to_string(dims[0]) + ", " + std::to_string(dims[1]) + ", " +
                                std::to_string(dims[2]) + ", " + std::to_string(dims[3]) + "]";
    host::Gauge gauge = context.gauge("{start: hot, seed: 7, dims: " + extents + "}");
    host::Operator dirac =
        gauge.dirac("{type: wilson, mass: 0.1, boundary: [periodic, periodic, periodic, antiperiodic]}");
    std::vector<std::byte> memory(bytes + 2 * spinor_bytes);
    void* pinned = nullptr;
    check(cudaMallocHost(&pinned, memory.size()));
    const auto parts = [&](const char* name, std::byte* at) {
      return Case{name, at, at + bytes, at + bytes + spinor_bytes};
    };
    const DeviceMemory device(bytes);
    std::printf("%zu MB of links, %zu MB of a spinor; milliseconds, in brackets over cudaMemcpy\n", bytes >> 20,
                spinor_bytes >> 20);
    for (const Case& here : {parts("malloc", memory.data()), parts("pinned", static_cast<std::byte*>(pinned))}) {
      gauge.to_memory("{}", {here.links});
      double* numbers = static_cast<double*>(here.in);
      for (std::size_t k = 0; k < sites * 24; ++k) numbers[k] = double(std::rand()) / RAND_MAX - 0.5;
      std::memset(here.out, 0xff, spinor_bytes);
      const double up =
          milliseconds(repetitions, [&] { check(cudaMemcpy(device.at, here.links, bytes, cudaMemcpyHostToDevice)); });
      const double down =
          milliseconds(repetitions, [&] { check(cudaMemcpy(here.links, device.at, bytes, cudaMemcpyDeviceToHost)); });
      const double both = milliseconds(repetitions, [&] {
        check(cudaMemcpy(device.at, here.in, spinor_bytes, cudaMemcpyHostToDevice));
        check(cudaMemcpy(here.out, device.at, spinor_bytes, cudaMemcpyDeviceToHost));
      });
      const double update = milliseconds(repetitions, [&] { gauge.update("{}", {here.links}); });
      const double to_memory = milliseconds(repetitions, [&] { gauge.to_memory("{}", {here.links}); });
      const double apply = milliseconds(repetitions, [&] { dirac.apply(QUADRILLE_M, "{}", here.in, here.out); });
      std::printf(
          "%s: cudaMemcpy in %.1f, out %.1f; update %.1f (%.2f), to_memory %.1f (%.2f); spinor: cudaMemcpy in "
          "and out %.1f, M %.1f (%.2f)\n",
          here.memory, up, down, update, update / up, to_memory, to_memory / down, both, apply, apply / both);
    }
    check(cudaFreeHost(pinned));
  } catch (const host::Failure& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
