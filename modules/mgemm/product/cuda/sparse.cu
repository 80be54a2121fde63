// Sparse products on the device. The threads of a warp have neighbouring lines of the dense matrix, so that each large
// element meets contiguous numbers; blocks run through the sparse matrix first, so that the panel of the dense one that
// they share (128 lines, 16 MiB for k = 16,384) stays in the cache. Where those lines are not contiguous in memory, as
// many panels as the cache holds are transposed first.
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"
#include "modules/mgemm/product/cuda/sparse.h"

#include <algorithm>
#include <limits>

namespace quadrille::mgemm {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
/// Lines of the dense matrix that a warp works on: four of each thread.
constexpr int panel = 128;
constexpr int each = panel / 32;

void launched(const char* what) { cuda::check(cudaGetLastError(), what); }

/// Adds the large elements of a line times the numbers data[position ld + lane + 32 u], u in [0, each), of which those
/// with lane + 32 u < lines exist. `filtered`: magnitudes above delta count as 0.
template <bool filtered>
__device__ __forceinline__ void gather(const std::int64_t* offsets, const cuda::LargeList& large, std::int64_t line,
                                       const double* __restrict__ data, std::int64_t ld, int lane, int lines,
                                       double delta, double* sums) {
  const std::int64_t end = offsets[line + 1];
#pragma unroll 4
  for (std::int64_t e = offsets[line]; e < end; ++e) {
    const double* from = data + large.positions[e] * ld;
    const double value = large.values[e];
#pragma unroll
    for (int u = 0; u < each; ++u) {
      double x = lane + 32 * u < lines ? from[lane + 32 * u] : 0.0;
      if (filtered) x = fabs(x) <= delta ? x : 0.0;
      sums[u] += value * x;
    }
  }
}

struct Merge {
  std::int64_t rows, columns;  ///< of C, or of the panel's part of it
  std::int64_t column_blocks;
  const std::int64_t* offsets;  ///< null: no large elements
  cuda::LargeList large;
  const double* data;  ///< D(i, l) = data[l ld + i]
  std::int64_t ld;
  double delta;
  const void* sums;
  std::int64_t sums_ld;
  double unit_a, unit_b, alpha, beta;
  double* c;
  std::int64_t ldc;
};

/// Columns of C that a warp works on, one after the other.
constexpr int columns_each = 2;

template <class Sum>
__global__ void __launch_bounds__(threads) merge_right(const __grid_constant__ Merge t) {
  const std::int64_t row_block = blockIdx.x / t.column_blocks;
  const std::int64_t first_row = row_block * panel;
  const std::int64_t first_column = (blockIdx.x - row_block * t.column_blocks) * (warps * columns_each);
  const int lane = int(threadIdx.x % 32);
  const std::int64_t left = t.rows - first_row;
  const int rows = left < panel ? int(left) : panel;
  for (int turn = 0; turn < columns_each; ++turn) {
    const std::int64_t column = first_column + turn * warps + threadIdx.x / 32;
    if (column >= t.columns) return;
    double sums[each] = {};
    if (t.offsets != nullptr) {
      gather<true>(t.offsets, t.large, column, t.data + first_row, t.ld, lane, rows, t.delta, sums);
    }
    const Sum* of_parts = static_cast<const Sum*>(t.sums) + column * t.sums_ld + first_row;
    double* c = t.c + column * t.ldc + first_row;
#pragma unroll
    for (int u = 0; u < each; ++u) {
      const int i = lane + 32 * u;
      if (i >= rows) continue;
      if (t.sums != nullptr) sums[u] += double(of_parts[i]) * t.unit_a * t.unit_b;
      const double old = t.beta != 0 ? t.beta * c[i] : 0.0;
      c[i] = old + t.alpha * sums[u];
    }
  }
}

struct LeftProduct {
  std::int64_t rows, columns;  ///< of C, or of the panel's part of it
  std::int64_t row_blocks;
  const std::int64_t* offsets;
  cuda::LargeList large;
  const double* data;  ///< D(l, j) = data[l ld + j]
  std::int64_t ld;
  double alpha;
  double* c;
  std::int64_t ldc;
};

constexpr int tile_rows = 32;

/// A block takes 32 rows and 128 columns of C, which are transposed in shared memory on their way to its columns.
__global__ void __launch_bounds__(threads) add_left(const __grid_constant__ LeftProduct t) {
  __shared__ double tile[panel][tile_rows + 1];
  const std::int64_t column_block = blockIdx.x / t.row_blocks;
  const std::int64_t first_column = column_block * panel;
  const std::int64_t first_row = (blockIdx.x - column_block * t.row_blocks) * tile_rows;
  const std::int64_t rows_left = t.rows - first_row, columns_left = t.columns - first_column;
  const int rows = rows_left < tile_rows ? int(rows_left) : tile_rows;
  const int columns = columns_left < panel ? int(columns_left) : panel;
  if (t.offsets[first_row] == t.offsets[first_row + rows]) return;  // the same for all threads
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  for (int row = warp; row < rows; row += warps) {
    double sums[each] = {};
    gather<false>(t.offsets, t.large, first_row + row, t.data + first_column, t.ld, lane, columns, 0.0, sums);
#pragma unroll
    for (int u = 0; u < each; ++u) tile[lane + 32 * u][row] = sums[u];
  }
  __syncthreads();
  if (lane >= rows) return;
#pragma unroll 4
  for (int column = warp; column < columns; column += warps) {
    double* c = t.c + (first_column + column) * t.ldc + first_row + lane;
    *c += t.alpha * tile[column][lane];
  }
}

constexpr int tile_width = 32;

/// to[l to_ld + p] = from[p ld + l] for `lines` lines of `length` numbers.
__global__ void __launch_bounds__(threads)
    transpose(const double* __restrict__ from, std::int64_t ld, std::int64_t lines, std::int64_t length, double* to,
              std::int64_t to_ld, std::int64_t line_blocks) {
  __shared__ double tile[tile_width][tile_width + 1];
  const std::int64_t number = blockIdx.x / line_blocks;
  const std::int64_t first_line = (blockIdx.x - number * line_blocks) * tile_width, first = number * tile_width;
  const int lane = int(threadIdx.x % tile_width);
#pragma unroll
  for (int i = int(threadIdx.x / tile_width); i < tile_width; i += threads / tile_width) {
    const std::int64_t line = first_line + i, l = first + lane;
    if (line < lines && l < length) tile[i][lane] = from[line * ld + l];
  }
  __syncthreads();
#pragma unroll
  for (int i = int(threadIdx.x / tile_width); i < tile_width; i += threads / tile_width) {
    const std::int64_t line = first_line + lane, l = first + i;
    if (line < lines && l < length) to[l * to_ld + line] = tile[lane][i];
  }
}

unsigned blocks(std::int64_t count) { return unsigned(count); }
std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void launch_transpose(const double* from, std::int64_t ld, std::int64_t lines, std::int64_t length, double* to,
                      std::int64_t to_ld) {
  const std::int64_t line_blocks = up(lines, tile_width);
  transpose<<<blocks(line_blocks * up(length, tile_width)), threads, 0, cuda::stream()>>>(from, ld, lines, length, to,
                                                                                          to_ld, line_blocks);
  launched("the launch of a transposed panel");
}

void launch_merge(Merge task, bool integer) {
  task.column_blocks = up(task.columns, warps * columns_each);
  const unsigned count = blocks(task.column_blocks * up(task.rows, panel));
  if (integer) {
    merge_right<std::int32_t><<<count, threads, 0, cuda::stream()>>>(task);
  } else {
    merge_right<float><<<count, threads, 0, cuda::stream()>>>(task);
  }
  launched("the launch of a merge");
}

void launch_left(LeftProduct task) {
  task.row_blocks = up(task.rows, tile_rows);
  add_left<<<blocks(task.row_blocks * up(task.columns, panel)), threads, 0, cuda::stream()>>>(task);
  launched("the launch of a sparse product");
}

/// Lines of k numbers that are transposed at a time for an m x n product: whole panels, more than one where the cache
/// holds them and they take no more memory than the product in single precision.
std::int64_t transposed_lines(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t cached = std::int64_t(32) << 20;
  const std::int64_t one = panel * std::max<std::int64_t>(1, k) * std::int64_t(sizeof(double));
  return panel * std::max<std::int64_t>(1, std::min(cached, 4 * m * n) / one);
}

cuda::DeviceArray<double> transposed_panels(std::int64_t lines, std::int64_t k) {
  return {lines * k, "panels of a sparse product", "use a smaller memory cap"};
}

const void* advanced(const void* sums, bool integer, std::int64_t by) {
  if (sums == nullptr) return nullptr;
  if (integer) return static_cast<const std::int32_t*>(sums) + by;
  return static_cast<const float*>(sums) + by;
}

}  // namespace

void merge_and_multiply_right(double alpha, const PartSums& sums, DenseView<const double> d, double delta,
                              const LargeLines& large, double beta, DenseView<double> c) {
  Merge task{c.rows,     c.cols,  0,           large.any ? large.offsets : nullptr,
             large.list, d.data,  d.ld,        delta,
             sums.data,  sums.ld, sums.unit_a, sums.unit_b,
             alpha,      beta,    c.data,      c.ld};
  if (!large.any || !d.by_rows) {
    launch_merge(task, sums.integer);
    return;
  }
  const std::int64_t each_time = std::min(transposed_lines(c.rows, c.cols, d.cols), c.rows);
  const cuda::DeviceArray<double> memory = transposed_panels(each_time, d.cols);
  for (std::int64_t row = 0; row < c.rows; row += each_time) {
    const std::int64_t rows = std::min(each_time, c.rows - row);
    launch_transpose(d.data + row * d.ld, d.ld, rows, d.cols, memory.get(), each_time);
    Merge part = task;
    part.rows = rows;
    part.data = memory.get();
    part.ld = each_time;
    part.sums = advanced(sums.data, sums.integer, row);
    part.c = c.data + row;
    launch_merge(part, sums.integer);
  }
}

void add_multiplied_left(double alpha, const LargeLines& large, DenseView<const double> d, DenseView<double> c) {
  if (!large.any) return;
  const LeftProduct task{c.rows, c.cols, 0, large.offsets, large.list, d.data, d.ld, alpha, c.data, c.ld};
  if (d.by_rows) {
    launch_left(task);
    return;
  }
  const std::int64_t each_time = std::min(transposed_lines(c.rows, c.cols, d.rows), c.cols);
  const cuda::DeviceArray<double> memory = transposed_panels(each_time, d.rows);
  for (std::int64_t column = 0; column < c.cols; column += each_time) {
    const std::int64_t columns = std::min(each_time, c.cols - column);
    launch_transpose(d.data + column * d.ld, d.ld, columns, d.rows, memory.get(), each_time);
    LeftProduct part = task;
    part.columns = columns;
    part.data = memory.get();
    part.ld = each_time;
    part.c = c.data + column * c.ld;
    launch_left(part);
  }
}

std::int64_t transposed_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::min(transposed_lines(m, n, k), std::max(m, n)) * k * std::int64_t(sizeof(double));
}

std::int64_t transposed_panel_bytes(std::int64_t k) { return panel * k * std::int64_t(sizeof(double)); }

}  // namespace quadrille::mgemm
