// Propagators on the device: packed for files, unpacked, contracted; and sources, put at one site.
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/grouped_access.cuh"
#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/reduce.cuh"
#include "core/backend/cuda/runtime.h"
#include "core/field/propagator_sites.h"

namespace quadrille::cuda {
namespace {

constexpr int threads = 128;
constexpr int chunk = 512;  ///< sites of one partial sum

struct Columns {
  double* numbers[2][propagator_columns];
  __device__ __forceinline__ SpinorAccess<double> access(int parity, int column) const {
    return {numbers[parity][column], nullptr};
  }
};

Columns columns_of(const PropagatorColumns& all) {
  Columns columns;
  for (int p = 0; p < 2; ++p)
    for (int c = 0; c < propagator_columns; ++c) columns.numbers[p][c] = all.numbers[p][c];
  return columns;
}

/// One thread a site and column; consecutive threads have consecutive sites.
template <class Body>
__global__ void __launch_bounds__(threads) for_each_column(const __grid_constant__ Body body, std::int64_t sites) {
  const std::int64_t k = std::int64_t(blockIdx.x) * threads + threadIdx.x;
  if (k < sites) body(k, int(blockIdx.y));
}

template <template <class, class> class Body>
void launch(void* bytes, const PropagatorColumns& all, std::int64_t first, std::int64_t count, int precision) {
  if (count == 0) return;
  const PieceOfSites piece{bytes, first, {all.extents[0], all.extents[1], all.extents[2], all.extents[3]}, all.rotate};
  const dim3 grid(unsigned((count + threads - 1) / threads), propagator_columns);
  if (precision == 64)
    for_each_column<<<grid, threads, 0, stream()>>>(Body<Columns, double>{columns_of(all), piece}, count);
  else
    for_each_column<<<grid, threads, 0, stream()>>>(Body<Columns, float>{columns_of(all), piece}, count);
  check(cudaGetLastError(), "the launch of packing a propagator");
}

/// partial[2 * time + parity][chunk]: sums over a chunk of the sites of a time slice and parity.
__global__ void __launch_bounds__(threads)
    partial_norms(const __grid_constant__ SiteNorm<Columns> norm, std::int64_t in_time, double* partial) {
  __shared__ double of_warps[threads / 32];
  const int time = int(blockIdx.y) / 2, parity = int(blockIdx.y) % 2;
  const std::int64_t begin = std::int64_t(blockIdx.x) * chunk;
  const std::int64_t end = begin + chunk < in_time ? begin + chunk : in_time;
  double sum = 0;
  for (std::int64_t site = begin + threadIdx.x; site < end; site += threads) sum += norm(parity, time * in_time + site);
  sum = sum_over_block<threads>(sum, of_warps);
  if (threadIdx.x == 0) partial[std::int64_t(blockIdx.y) * gridDim.x + blockIdx.x] = sum;
}

/// sums[time]: thread i adds partial[i], partial[i + threads], ... of the time; then a tree over the threads.
__global__ void __launch_bounds__(threads) whole_norms(const double* partial, std::int64_t count, double* sums) {
  __shared__ double of_warps[threads / 32];
  const double* const mine = partial + std::int64_t(blockIdx.x) * count;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += threads) sum += mine[i];
  sum = sum_over_block<threads>(sum, of_warps);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class Body>
__global__ void once(const __grid_constant__ Body body) {
  body(0);
}

}  // namespace

void pack_sites(void* bytes, const PropagatorColumns& columns, std::int64_t first, std::int64_t count, int precision) {
  launch<PackColumn>(bytes, columns, first, count, precision);
}

void unpack_sites(const PropagatorColumns& columns, const void* bytes, std::int64_t first, std::int64_t count,
                  int precision) {
  launch<UnpackColumn>(const_cast<void*>(bytes), columns, first, count, precision);
}

std::vector<double> slice_norms(const PropagatorColumns& columns) {
  const int* const extents = columns.extents;
  const std::int64_t in_time = std::int64_t(extents[0]) * extents[1] * extents[2] / 2;
  const std::int64_t chunks = (in_time + chunk - 1) / chunk;
  const DeviceArray<double> partial(2 * extents[3] * chunks, "a correlator", "use a smaller lattice");
  const DeviceArray<double> sums(extents[3], "a correlator", "use a smaller lattice");
  const dim3 grid(unsigned(chunks), unsigned(2 * extents[3]));
  partial_norms<<<grid, threads, 0, stream()>>>({columns_of(columns), columns.rotate}, in_time, partial.get());
  check(cudaGetLastError(), "the launch of a contraction");
  whole_norms<<<unsigned(extents[3]), threads, 0, stream()>>>(partial.get(), 2 * chunks, sums.get());
  check(cudaGetLastError(), "the launch of a contraction's sum");
  return fetched(sums.get(), sums.count());
}

void put_site(const Spinor& dst, std::int64_t site, const double* numbers) {
  const auto put = [&](auto access) {
    PutSite<decltype(access)> body{access, site, {}};
    for (int n = 0; n < spinor_numbers; ++n) body.numbers[n] = numbers[n];
    once<<<1, 1, 0, stream()>>>(body);
    check(cudaGetLastError(), "the launch of a source");
  };
  switch (dst.precision) {
    case Precision::Double: put(SpinorAccess<double>{dst.numbers, dst.norms}); break;
    case Precision::Single: put(SpinorAccess<float>{dst.numbers, dst.norms}); break;
    case Precision::Half: put(SpinorAccess<std::int16_t>{dst.numbers, dst.norms}); break;
  }
}

}  // namespace quadrille::cuda
