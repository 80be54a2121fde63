// Which panels of rows and columns meet, and in what order they are multiplied.
#include "core/error.h"
#include "modules/block_dft/product/cuda/symbolic_view.cuh"

#include <cub/device/device_radix_sort.cuh>

#include <string>

namespace quadrille::block_dft {
namespace {

/// The panels of B at each inner piece.
struct PanelsOfInner {
  const std::int64_t* first;  ///< [k + 1]
  const std::int32_t* panel;
};

/// Sets the bits of column panels in which row panel `row` has products or old blocks. All threads of a block call
/// this.
__device__ void find_column_panels(const ProblemView& v, const PanelsOfInner& b, std::int32_t row, unsigned* bits) {
  const int words = (v.column_panels + 31) / 32;
  for (int w = int(threadIdx.x); w < words; w += blockDim.x) bits[w] = 0;
  __syncthreads();
  const std::int32_t begin = row * v.shape.rows, end = min(begin + v.shape.rows, v.row_pieces);
  const std::int32_t first_block = v.rows[begin].block;
  const auto set = [&](std::int32_t panel) {
    const std::int32_t last = min((panel + 1) * v.shape.columns, v.column_pieces) - 1;
    if (v.upper && v.columns[last].block < first_block) return;
    atomicOr(bits + panel / 32, 1u << (panel % 32));
  };
  const int warp = int(threadIdx.x / 32), warps = int(blockDim.x / 32);
  if (!v.retain) {
    for (std::int64_t e = v.a.panel_first[row] + warp; e < v.a.panel_first[row + 1]; e += warps) {
      const std::int32_t k = v.a.k[e];
      for (std::int64_t n = b.first[k] + lane_number(); n < b.first[k + 1]; n += 32) set(b.panel[n]);
    }
  }
  for (std::int32_t piece = begin; v.has_old && piece < end; ++piece) {
    const std::int32_t i = v.rows[piece].block;
    for (std::int64_t slot = v.old.first[i] + threadIdx.x; slot < v.old.first[i + 1]; slot += blockDim.x) {
      const std::int32_t j = v.old.column[slot];
      for (std::int32_t q = v.column_first[j]; q < v.column_first[j + 1]; ++q) set(q / v.shape.columns);
    }
  }
  __syncthreads();
}

/// A block takes a row panel. Counts its tasks, or with `column_panel` writes them from first[row] on.
__global__ void __launch_bounds__(launch_threads) write_tasks(ProblemView v, PanelsOfInner b, std::int64_t* first,
                                                              std::int32_t* row_panel, std::int32_t* column_panel) {
  extern __shared__ unsigned bits[];
  __shared__ int in_warps[launch_threads / 32];
  const std::int32_t row = std::int32_t(blockIdx.x);
  find_column_panels(v, b, row, bits);
  const int words = (v.column_panels + 31) / 32, lane = lane_number(), warp = int(threadIdx.x / 32);
  std::int64_t before = 0;
  for (int base = 0; base < words; base += launch_threads) {
    const unsigned word = base + int(threadIdx.x) < words ? bits[base + threadIdx.x] : 0;
    int upto = __popc(word);
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(all_lanes, upto, distance);
      if (lane >= distance) upto += other;
    }
    if (lane == 31) in_warps[warp] = upto;
    __syncthreads();
    int all = 0, of_earlier_warps = 0;
    for (int w = 0; w < launch_threads / 32; ++w) {
      if (w == warp) of_earlier_warps = all;
      all += in_warps[w];
    }
    if (column_panel != nullptr) {
      std::int64_t to = first[row] + before + of_earlier_warps + upto - __popc(word);
      for (unsigned left = word; left != 0; left &= left - 1, ++to) {
        row_panel[to] = row;
        column_panel[to] = (base + int(threadIdx.x)) * 32 + __ffs(int(left)) - 1;
      }
    }
    before += all;
    __syncthreads();
  }
  if (column_panel == nullptr && threadIdx.x == 0) first[row] = before;
}

__global__ void write_inner_keys(PackedView b, std::int64_t entries, int panel_bits, std::uint64_t* keys) {
  const std::int64_t e = thread_number();
  if (e < entries) keys[e] = (std::uint64_t(b.k[e]) << panel_bits) | std::uint64_t(b.panel[e]);
}

__global__ void read_inner_keys(const std::uint64_t* keys, std::int64_t entries, int panel_bits, std::int32_t inner,
                                std::int64_t* first, std::int32_t* panel) {
  const std::int64_t e = thread_number();
  if (e >= entries) return;
  const std::int64_t k = std::int64_t(keys[e] >> panel_bits);
  panel[e] = std::int32_t(keys[e] & ((std::uint64_t(1) << panel_bits) - 1));
  const std::int64_t before = e == 0 ? -1 : std::int64_t(keys[e - 1] >> panel_bits);
  for (std::int64_t begun = before + 1; begun <= k; ++begun) first[begun] = e;
  if (e + 1 < entries) return;
  for (std::int64_t rest = k + 1; rest <= inner; ++rest) first[rest] = entries;
}

__global__ void write_order_keys(std::int64_t tasks, int column_bits, const std::int32_t* row_panel,
                                 const std::int32_t* column_panel, std::uint64_t* keys, std::int64_t* numbers) {
  const std::int64_t t = thread_number();
  if (t >= tasks) return;
  const std::uint64_t row = std::uint64_t(row_panel[t]);
  keys[t] = (((row / task_band) << column_bits | std::uint64_t(column_panel[t])) << 4) | (row % task_band);
  numbers[t] = t;
}

}  // namespace

DeviceArray<std::int64_t> list_tasks(const SymbolicProblem& p, const ProblemView& v, Tasks& tasks) {
  const std::int64_t entries = p.b.entries;
  const int panel_bits = bits_for(p.b.panels);
  auto keys = device_array<std::uint64_t>(entries), sorted = device_array<std::uint64_t>(entries);
  auto inner_first = zeroed(p.inner.count + 1);
  auto panels = device_array<std::int32_t>(entries);
  launch_each(entries, write_inner_keys, v.b, entries, panel_bits, keys.get());
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(memory, bytes, keys.get(), sorted.get(), entries, 0,
                                          panel_bits + bits_for(p.inner.count), cuda::stream());
  });
  launch_each(entries, read_inner_keys, sorted.get(), entries, panel_bits, p.inner.count, inner_first.get(),
              panels.get());

  const std::size_t bytes = std::size_t(v.column_panels + 31) / 32 * sizeof(unsigned);
  if (bytes > 48 << 10) {
    throw Error(ErrorCode::unsupported, "a product on a GPU takes a C of up to " +
                                            std::to_string((48 << 10) * 8 * p.shape.columns) + " columns of blocks");
  }
  auto first = zeroed(v.row_panels + 1);
  const PanelsOfInner b{inner_first.get(), panels.get()};
  const auto launch = [&](std::int32_t* row_panel, std::int32_t* column_panel) {
    if (v.row_panels == 0) return;
    write_tasks<<<unsigned(v.row_panels), launch_threads, bytes, cuda::stream()>>>(v, b, first.get(), row_panel,
                                                                                   column_panel);
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
  };
  launch(nullptr, nullptr);
  sum_before(first);
  tasks.count = last_of(first);
  tasks.row_panel = device_array<std::int32_t>(tasks.count);
  tasks.column_panel = device_array<std::int32_t>(tasks.count);
  if (tasks.count > 0) launch(tasks.row_panel.get(), tasks.column_panel.get());
  return first;
}

void order_tasks(const ProblemView& v, Tasks& tasks) {
  static_assert(task_band <= 16, "four bits of a key");
  const int column_bits = bits_for(v.column_panels);
  auto keys = device_array<std::uint64_t>(tasks.count), sorted = device_array<std::uint64_t>(tasks.count);
  auto numbers = device_array<std::int64_t>(tasks.count);
  tasks.order = device_array<std::int64_t>(tasks.count);
  launch_each(tasks.count, write_order_keys, tasks.count, column_bits, tasks.row_panel.get(), tasks.column_panel.get(),
              keys.get(), numbers.get());
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.get(), sorted.get(), numbers.get(), tasks.order.get(),
                                           tasks.count, 0, 4 + column_bits + bits_for(v.row_panels / task_band),
                                           cuda::stream());
  });
}

}  // namespace quadrille::block_dft
