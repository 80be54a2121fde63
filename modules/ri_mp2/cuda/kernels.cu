// The sums over integrals on the device, and what a sample of their errors takes.
#include "modules/ri_mp2/cuda/kernels.h"

#include "core/backend/cuda/reduce.cuh"
#include "core/backend/cuda/runtime.h"

#include <algorithm>

namespace quadrille::ri_mp2 {
namespace {

constexpr int threads = 256;
constexpr int tile_rows = threads / tile;      ///< rows of a tile that the threads of a block take at once
constexpr int each_thread = tile / tile_rows;  ///< elements of a tile that a thread takes
/// A fixed number, for the same bits on every device: four times what 132 multiprocessors hold.
constexpr unsigned most_blocks = 4 * 4 * 132;

/// Blocks take tiles (a, b <= a) of pairs i, j in turn, each with the tile (b, a) that is its mirror image, which
/// passes through shared memory, so that both are read along rows.
template <class T>
__global__ void __launch_bounds__(threads, 4)
    sum_tiles(const __grid_constant__ DeviceBatch<T> batch, const __grid_constant__ cuda::Reduction reduction) {
  __shared__ T mirror[tile][tile + 1];  // a column of it touches every bank
  const unsigned column = threadIdx.x % tile, row = threadIdx.x / tile, n = batch.virtuals;
  const unsigned tiles = (n + tile - 1) / tile, in_pair = tiles_below(tiles), pairs = batch.count_i * batch.count_j;
  const unsigned step_pairs = gridDim.x / in_pair, step_tiles = gridDim.x % in_pair;
  const std::int64_t stride = std::int64_t(batch.count_j) * n;
  SpinSums sums;
  unsigned pair = blockIdx.x / in_pair, number = blockIdx.x % in_pair;
  while (pair < pairs) {
    const TilePlace place = tile_of(tiles, number);
    const unsigned i = pair / batch.count_j, j = pair - i * batch.count_j;
    const T* x = batch.integrals + std::int64_t(i) * n * stride + std::int64_t(j) * n;
    const unsigned a0 = place.a * tile + row, b = place.b * tile + column;  // of this thread's elements
    const unsigned b0 = place.b * tile + row, a = place.a * tile + column;  // and of those that it fetches for others
    T one[each_thread], other[each_thread];
#pragma unroll
    for (int k = 0; k < each_thread; ++k) {
      const unsigned line = a0 + unsigned(k * tile_rows);
      one[k] = line < n && b < n ? x[line * stride + b] : T(0);
    }
#pragma unroll
    for (int k = 0; k < each_thread; ++k) {
      const unsigned line = b0 + unsigned(k * tile_rows);
      other[k] = one[k];
      if (place.a != place.b) other[k] = line < n && a < n ? x[line * stride + a] : T(0);
    }
#pragma unroll
    for (int k = 0; k < each_thread; ++k) mirror[row + unsigned(k * tile_rows)][column] = other[k];
    __syncthreads();
    const double e_ij = batch.eps_i[i] + batch.eps_j[j], e_b = b < n ? batch.eps_virtual[b] : 0;
#pragma unroll
    for (int k = 0; k < each_thread; ++k) {
      const unsigned line = a0 + unsigned(k * tile_rows);
      if (line >= n || b > line) continue;  // b <= line < n
      const double d = e_ij - batch.eps_virtual[line] - e_b;
      if (b < line) {
        add_pair(sums, one[k], mirror[column][row + unsigned(k * tile_rows)], d);
      } else {
        add_diagonal(sums, one[k], d);
      }
    }
    __syncthreads();  // mirror may be used again
    pair += step_pairs;
    number += step_tiles;
    if (number >= in_pair) {
      number -= in_pair;
      ++pair;
    }
  }
  const double mine[2] = {sums.opposite, sums.same};
  cuda::reduce<2, threads>(mine, reduction);
}

__global__ void __launch_bounds__(threads)
    narrow_all(const double* __restrict__ from, std::int64_t count, float* __restrict__ to) {
  const std::int64_t step = std::int64_t(gridDim.x) * threads;
  for (std::int64_t k = std::int64_t(blockIdx.x) * threads + threadIdx.x; k < count; k += step) to[k] = float(from[k]);
}

/// A warp takes a row.
__global__ void __launch_bounds__(threads)
    square_each(const double* __restrict__ matrix, std::int64_t rows, std::int64_t length, double* squares) {
  const std::int64_t row = std::int64_t(blockIdx.x) * (threads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  double sum = 0;
  for (std::int64_t k = threadIdx.x % 32; k < length; k += 32) {
    const double x = matrix[row * length + k];
    sum += x * x;
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  if (threadIdx.x % 32 == 0) squares[row] = sum;
}

__global__ void __launch_bounds__(threads)
    derive(const __grid_constant__ DeviceRows of, const double* __restrict__ exact, double* derivatives) {
  const std::int64_t jb = std::int64_t(blockIdx.x) * threads + threadIdx.x;
  if (jb >= of.pairs) return;
  const std::int64_t place = std::int64_t(blockIdx.y) * of.pairs + jb;
  derivatives[place] = energy_derivative(exact[place], derivatives[place], of.gaps_of_rows[blockIdx.y] + of.gaps[jb]);
}

constexpr int threads_of_row = 1024;

__global__ void __launch_bounds__(threads_of_row)
    sum_errors_of_row(const __grid_constant__ DeviceRows of, const double* __restrict__ mixed,
                      const double* __restrict__ exact, const double* __restrict__ derivatives, MovedEnergy* moved) {
  __shared__ double of_warps[threads_of_row / 32];
  __shared__ unsigned long long largest;  // the bits of a number that is not negative: they rise with it
  if (threadIdx.x == 0) largest = 0;
  const std::int64_t begin = std::int64_t(blockIdx.x) * of.pairs;
  const double gap = of.gaps_of_rows[blockIdx.x];
  MovedEnergy mine;
  for (std::int64_t jb = threadIdx.x; jb < of.pairs; jb += threads_of_row) {
    add_error(mine, derivatives[begin + jb], mixed[begin + jb] - exact[begin + jb], gap + of.gaps[jb]);
  }
  const double first = cuda::sum_over_block<threads_of_row>(mine.first, of_warps);
  const double second = cuda::sum_over_block<threads_of_row>(mine.second, of_warps);
  atomicMax(&largest, static_cast<unsigned long long>(__double_as_longlong(mine.largest)));
  __syncthreads();
  if (threadIdx.x == 0) {
    moved[blockIdx.x].first = first;
    moved[blockIdx.x].second = second;
    moved[blockIdx.x].largest = __longlong_as_double(static_cast<long long>(largest));
  }
}

unsigned blocks_for(std::int64_t count, int each) { return unsigned((count + each - 1) / each); }

}  // namespace

template <class T>
SpinSums sum_integrals(const DeviceBatch<T>& batch) {
  const std::int64_t tiles = (std::int64_t(batch.virtuals) + tile - 1) / tile;
  const std::int64_t all = std::int64_t(batch.count_i) * batch.count_j * (tiles * (tiles + 1) / 2);
  const unsigned blocks = unsigned(std::min<std::int64_t>(all, most_blocks));
  const cuda::Reduction reduction = cuda::begin_reduction(blocks, 2);
  sum_tiles<T><<<blocks, threads, 0, cuda::stream()>>>(batch, reduction);
  cuda::check(cudaGetLastError(), "the launch of the sums over integrals");
  double sums[2] = {};
  cuda::finish_reduction(reduction, sums, 2);
  return {sums[0], sums[1]};
}

template SpinSums sum_integrals(const DeviceBatch<double>&);
template SpinSums sum_integrals(const DeviceBatch<float>&);

void narrow(const double* from, std::int64_t count, float* to) {
  const unsigned blocks = unsigned(std::min<std::int64_t>(blocks_for(count, threads), 16 * 132));
  narrow_all<<<blocks, threads, 0, cuda::stream()>>>(from, count, to);
  cuda::check(cudaGetLastError(), "the launch of a rounding to single precision");
}

void square_rows(const double* matrix, std::int64_t rows, std::int64_t length, double* squares) {
  square_each<<<blocks_for(rows, threads / 32), threads, 0, cuda::stream()>>>(matrix, rows, length, squares);
  cuda::check(cudaGetLastError(), "the launch of sums of squares");
}

void make_derivatives(const DeviceRows& of, const double* exact, double* derivatives) {
  derive<<<dim3(blocks_for(of.pairs, threads), of.rows), threads, 0, cuda::stream()>>>(of, exact, derivatives);
  cuda::check(cudaGetLastError(), "the launch of derivatives");
}

void sum_errors(const DeviceRows& of, const double* mixed, const double* exact, const double* derivatives,
                MovedEnergy* moved) {
  sum_errors_of_row<<<of.rows, threads_of_row, 0, cuda::stream()>>>(of, mixed, exact, derivatives, moved);
  cuda::check(cudaGetLastError(), "the launch of sums of errors");
}

}  // namespace quadrille::ri_mp2
