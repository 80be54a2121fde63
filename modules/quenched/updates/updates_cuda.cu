// Updates of links on the device: a thread updates the link of one direction at one site.
#define QUADRILLE_ISA device
#include "core/backend/cuda/reduce.cuh"
#include "core/backend/cuda/runtime.h"
#include "modules/quenched/updates/site_update.h"
#include "modules/quenched/updates/updates_cuda.h"

namespace quadrille::quenched {
namespace {

constexpr int threads = 128;
/// Blocks that a multiprocessor shall hold at once: what leaves a thread the registers to ask for links some 280
/// instructions before it needs them, for all memory to be on its way while others compute.
template <class T, int numbers>
constexpr int resident = sizeof(T) == 8  ? 2
                         : numbers == 18 ? 3
                                         : 4;
/// Sites of a partial sum of planes.
constexpr int chunk = 1024;

/// Of space.
__host__ __device__ int places_of(const GroupedLinks& links) { return links.own.x * links.own.y * links.own.z; }

int blocks_for(int sites) { return (sites + threads - 1) / threads; }

__device__ __forceinline__ int site_of_thread() { return int(blockIdx.x) * threads + int(threadIdx.x); }

/// Adds the counts of all lanes of a warp to `total`: whole numbers, so that no order matters.
__device__ __forceinline__ void tally_up(unsigned long long* total, std::int64_t mine) {
  const unsigned sum = __reduce_add_sync(0xffffffffu, unsigned(mine));
  if (threadIdx.x % 32 == 0 && sum > 0) atomicAdd(total, sum);
}

template <class T, int numbers, int mu>
__global__ void __launch_bounds__(threads, resident<T, numbers>)
    heatbath(const __grid_constant__ GroupedLinks links, const __grid_constant__ SweepPart part, DeviceTally* tally) {
  const int site = site_of_thread();
  DrawCounts<T, 1> counts;
  if (site < links.own.sites) {
    update_site<T, numbers, mu>(links, part.parity, site, T(part.spatial_weight),
                                Heatbath<T, 1>{T(part.scale), part.seed, part.stream, &counts});
  }
  tally_up(&tally->attempts, counts.attempts);
  tally_up(&tally->draws, counts.draws);
  tally_up(&tally->creutz_attempts, counts.creutz_attempts);
  tally_up(&tally->creutz_draws, counts.creutz_draws);
}

template <class T, int numbers, int mu>
__global__ void __launch_bounds__(threads, resident<T, numbers>)
    overrelax(const __grid_constant__ GroupedLinks links, const __grid_constant__ SweepPart part) {
  const int site = site_of_thread();
  if (site >= links.own.sites) return;
  update_site<T, numbers, mu>(links, part.parity, site, T(part.spatial_weight), Overrelaxation<T, 1>{});
}

template <class T, int numbers>
__global__ void __launch_bounds__(threads)
    reunitarize(const __grid_constant__ GroupedLinks links, int parity, DeviceTally* tally) {
  const int site = site_of_thread();
  double largest = 0;
  if (site < links.own.sites) reunitarize_site<T, numbers>(links, parity, site, largest);
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, distance));
  }
  // Numbers that are not negative are in the order of their bits.
  if (threadIdx.x % 32 == 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&tally->largest_change),
              static_cast<unsigned long long>(__double_as_longlong(largest)));
  }
}

/// A block takes a chunk of one parity.
template <class T, int numbers>
__global__ void __launch_bounds__(threads)
    planes(const __grid_constant__ GroupedLinks links, int chunks, const __grid_constant__ cuda::Reduction reduction) {
  const int parity = int(blockIdx.x) / chunks;
  const std::int64_t begin = std::int64_t(int(blockIdx.x) - parity * chunks) * chunk;
  const std::int64_t end = begin + chunk < links.own.sites ? begin + chunk : links.own.sites;
  double sums[6] = {};
  for (std::int64_t site = begin + threadIdx.x; site < end; site += threads) {
    add_planes<T, numbers>(links, parity, int(site), sums);
  }
  cuda::reduce<6, threads>(sums, reduction);
}

/// A thread takes a place of space.
template <class T, int numbers>
__global__ void __launch_bounds__(threads)
    loops(const __grid_constant__ GroupedLinks links, const __grid_constant__ cuda::Reduction reduction) {
  const int place = site_of_thread();
  double sums[2] = {};
  if (place < places_of(links)) add_loop<T, numbers>(links, place, sums);
  cuda::reduce<2, threads>(sums, reduction);
}

template <class T, int numbers>
__global__ void __launch_bounds__(threads) time_products(const __grid_constant__ GroupedLinks links, double* products) {
  const int place = site_of_thread();
  if (place >= places_of(links)) return;
  double product[18];
  time_product<T, numbers>(links, place, product);
  for (int n = 0; n < 18; ++n) products[std::int64_t(place) * 18 + n] = product[n];
}

/// Calls f as with_numbers() does, and with the direction as a constant.
template <class F>
void with_direction(const GroupedLinks& links, int mu, F&& f) {
  with_numbers(links, [&](auto number, auto numbers) {
    switch (mu) {
      case 0: f(number, numbers, std::integral_constant<int, 0>{}); break;
      case 1: f(number, numbers, std::integral_constant<int, 1>{}); break;
      case 2: f(number, numbers, std::integral_constant<int, 2>{}); break;
      default: f(number, numbers, std::integral_constant<int, 3>{});
    }
  });
}

}  // namespace

void launch_heatbath(const GroupedLinks& links, const SweepPart& part, DeviceTally* tally) {
  with_direction(links, part.direction, [&](auto number, auto numbers, auto mu) {
    heatbath<decltype(number), decltype(numbers)::value, decltype(mu)::value>
        <<<unsigned(blocks_for(links.own.sites)), threads, 0, cuda::stream()>>>(links, part, tally);
  });
  cuda::check(cudaGetLastError(), "the launch of a heatbath");
}

void launch_overrelaxation(const GroupedLinks& links, const SweepPart& part) {
  with_direction(links, part.direction, [&](auto number, auto numbers, auto mu) {
    overrelax<decltype(number), decltype(numbers)::value, decltype(mu)::value>
        <<<unsigned(blocks_for(links.own.sites)), threads, 0, cuda::stream()>>>(links, part);
  });
  cuda::check(cudaGetLastError(), "the launch of an overrelaxation");
}

void launch_reunitarization(const GroupedLinks& links, DeviceTally* tally) {
  for (int parity : {0, 1}) {
    with_numbers(links, [&](auto number, auto numbers) {
      reunitarize<decltype(number), decltype(numbers)::value>
          <<<unsigned(blocks_for(links.own.sites)), threads, 0, cuda::stream()>>>(links, parity, tally);
    });
    cuda::check(cudaGetLastError(), "the launch of a reunitarization");
  }
}

void sum_planes(const GroupedLinks& links, double* sums) {
  const int chunks = (links.own.sites + chunk - 1) / chunk;
  const cuda::Reduction reduction = cuda::begin_reduction(std::size_t(2 * chunks), 6);
  with_numbers(links, [&](auto number, auto numbers) {
    planes<decltype(number), decltype(numbers)::value>
        <<<unsigned(2 * chunks), threads, 0, cuda::stream()>>>(links, chunks, reduction);
  });
  cuda::check(cudaGetLastError(), "the launch of plaquettes");
  cuda::finish_reduction(reduction, sums, 6);
}

void sum_loops(const GroupedLinks& links, double* sums) {
  const int blocks = blocks_for(places_of(links));
  const cuda::Reduction reduction = cuda::begin_reduction(std::size_t(blocks), 2);
  with_numbers(links, [&](auto number, auto numbers) {
    loops<decltype(number), decltype(numbers)::value>
        <<<unsigned(blocks), threads, 0, cuda::stream()>>>(links, reduction);
  });
  cuda::check(cudaGetLastError(), "the launch of Polyakov loops");
  cuda::finish_reduction(reduction, sums, 2);
}

void launch_time_products(const GroupedLinks& links, double* products) {
  with_numbers(links, [&](auto number, auto numbers) {
    time_products<decltype(number), decltype(numbers)::value>
        <<<unsigned(blocks_for(places_of(links))), threads, 0, cuda::stream()>>>(links, products);
  });
  cuda::check(cudaGetLastError(), "the launch of products of time links");
}

}  // namespace quadrille::quenched
