// A thread block of 15 warps that multiply and one that brings what they need. The latter goes through the steps of a
// task, puts as many as fit into a batch, and asks the copy engine for their pieces: one copy of A and one of B a step,
// from the factors' packed data into a ring of batches in shared memory. Each of the 15 has one or two pieces of C,
// looks up the steps of a batch that add to them, and multiplies on tensor cores. Warps that multiply meet only where a
// batch is full and where it may be overwritten; a task's first batches arrive while the task before is finished.
//
// A piece of C gets its terms in ascending k. Tiles of 16 x 8 take 8 terms an instruction (a lane's two elements of a
// row are neighbours, so that one load brings them; A and B agree on which term is which), the last 8 rows of an odd
// number of tiles 4. Rows behind those of a piece are read from whatever lies there: they make rows of C that are not
// written. Inner elements behind those of a piece count as zero.
#include "core/error.h"
#include "modules/block_dft/cuda/launch.cuh"
#include "modules/block_dft/cuda/panel_kernel.h"

#include <algorithm>

namespace quadrille::block_dft {
namespace {

constexpr int workers = 15;  ///< warps that multiply: with the one that brings four a scheduler, of 128 registers
constexpr int block_threads = 32 * (workers + 1);
constexpr int batch_steps = 32;
constexpr int most_stages = 4;

/// A step in shared memory; offsets in 16 bytes from the ring's beginning.
struct Slot {
  std::uint32_t mask;
  std::uint16_t a[6], b[6], k;
};

struct Batch {
  enum { no_task = -1 };
  Slot slots[batch_steps];
  int task;  ///< no_task: nothing follows
  int count;
  bool last;                         ///< of its task
  std::uint8_t rows[6], columns[6];  ///< sizes of the task's pieces
};

struct PanelArguments {
  const Step* steps;
  const std::int64_t *step_first, *order;
  std::int64_t tasks;
  const std::int32_t *row_panel, *column_panel;
  const double *a, *b;
  const Piece *rows, *columns;
  std::int32_t row_pieces, column_pieces;
  const std::int64_t *c_at, *old_at;
  const double* old;
  double* c;
  double alpha, beta;
  unsigned long long *begun, *brought;  ///< counts of tasks
  bool waves;
  int stages, stage_sixteens;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// ---- what waits -----------------------------------------------------------------------------------------------------

__device__ __forceinline__ unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void begin_barrier(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}
__device__ __forceinline__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void arrive_with(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void wait(std::uint64_t* barrier, unsigned phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}
__device__ __forceinline__ void bring(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

/// Until a count in the device's memory is that high.
__device__ __forceinline__ void await(const unsigned long long* count, std::uint64_t wanted) {
  unsigned long long found = 0;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(count) : "memory");
  } while (found < wanted);
}

/// A place in the ring.
struct Turn {
  int stage = 0;
  unsigned phase = 0;
  __device__ void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    phase ^= 1;
  }
};

// ---- products -------------------------------------------------------------------------------------------------------

__device__ __forceinline__ void multiply_16_8_8(double (&up)[2], double (&down)[2], double2 a_up, double2 a_down,
                                                double2 b) {
  asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+d"(up[0]), "+d"(up[1]), "+d"(down[0]), "+d"(down[1])
      : "d"(a_up.x), "d"(a_down.x), "d"(a_up.y), "d"(a_down.y), "d"(b.x), "d"(b.y));
}
__device__ __forceinline__ void multiply_16_8_4(double (&up)[2], double (&down)[2], double a_up, double a_down,
                                                double b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+d"(up[0]), "+d"(up[1]), "+d"(down[0]), "+d"(down[1])
      : "d"(a_up), "d"(a_down), "d"(b));
}
__device__ __forceinline__ void multiply_8_8_4(double (&c)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
}

/// Of a piece of C: tile (m, n) has rows 8 m + lane / 4 and columns 8 n + 2 (lane % 4) + {0, 1}.
template <int T>
using Sums = double[T][T][2];

/// What a lane knows of a product: its first elements of A and B in shared memory, the elements of a tile row of 8.
struct Lines {
  const double *a, *b;
  int stride;
};

/// Adds 8 terms, or what load(element) gives for them. `m_tiles`, `n_tiles` count with `full` = false only.
template <int T, bool full, class Load>
__device__ __forceinline__ void add_eight(Sums<T>& c, const Lines& at, int m_tiles, int n_tiles, Load load) {
  double2 b[T];
#pragma unroll
  for (int n = 0; n < T; ++n) {
    if (full || n < n_tiles) b[n] = load(at.b + n * at.stride);
  }
#pragma unroll
  for (int m = 0; m + 1 < T; m += 2) {
    if (!full && m >= m_tiles) continue;
    const double2 up = load(at.a + m * at.stride), down = load(at.a + (m + 1) * at.stride);
#pragma unroll
    for (int n = 0; n < T; ++n) {
      if (full || n < n_tiles) multiply_16_8_8(c[m][n], c[m + 1][n], up, down, b[n]);
    }
  }
  if constexpr (T % 2 != 0) {
    if (!full && T > m_tiles) return;
    const double2 a = load(at.a + (T - 1) * at.stride);
#pragma unroll
    for (int n = 0; n < T; ++n) {
      if (full || n < n_tiles) multiply_8_8_4(c[T - 1][n], a.x, b[n].x);
    }
#pragma unroll
    for (int n = 0; n < T; ++n) {
      if (full || n < n_tiles) multiply_8_8_4(c[T - 1][n], a.y, b[n].y);
    }
  }
}

/// Adds up to 4 terms.
template <int T, bool full, class Load>
__device__ __forceinline__ void add_four(Sums<T>& c, const Lines& at, int m_tiles, int n_tiles, Load load) {
  double b[T];
#pragma unroll
  for (int n = 0; n < T; ++n) {
    if (full || n < n_tiles) b[n] = load(at.b + n * at.stride);
  }
#pragma unroll
  for (int m = 0; m + 1 < T; m += 2) {
    if (!full && m >= m_tiles) continue;
    const double up = load(at.a + m * at.stride), down = load(at.a + (m + 1) * at.stride);
#pragma unroll
    for (int n = 0; n < T; ++n) {
      if (full || n < n_tiles) multiply_16_8_4(c[m][n], c[m + 1][n], up, down, b[n]);
    }
  }
  if constexpr (T % 2 != 0) {
    if (!full && T > m_tiles) return;
    const double a = load(at.a + (T - 1) * at.stride);
#pragma unroll
    for (int n = 0; n < T; ++n) {
      if (full || n < n_tiles) multiply_8_8_4(c[T - 1][n], a, b[n]);
    }
  }
}

/// C += A B of pieces whose rows (columns of B) begin at a and b, `k` elements long and padded to an even number.
template <int T, bool full>
__device__ __forceinline__ void add_product(Sums<T>& c, const double* a, const double* b, int k, int m_tiles,
                                            int n_tiles) {
  const int lane = lane_number(), line = lane / 4, pair = lane % 4, length = (k + 1) & ~1;
  Lines at{a + line * length + 2 * pair, b + line * length + 2 * pair, 8 * length};
  int left = k;
#pragma unroll 1  // more in flight would take more registers than there are
  for (; left >= 8; left -= 8, at.a += 8, at.b += 8) {
    add_eight<T, full>(c, at, m_tiles, n_tiles, [](const double* p) { return *reinterpret_cast<const double2*>(p); });
  }
  if (left > 4) {
    add_eight<T, full>(c, at, m_tiles, n_tiles, [&](const double* p) {
      return 2 * pair < left ? *reinterpret_cast<const double2*>(p) : double2{0, 0};
    });
  } else if (left > 0) {
    at.a -= pair;
    at.b -= pair;
    add_four<T, full>(c, at, m_tiles, n_tiles, [&](const double* p) { return pair < left ? *p : 0.0; });
  }
}

template <int T>
__device__ __forceinline__ void write_piece(const PanelArguments& t, const Sums<T>& c, std::int64_t place, int m, int n,
                                            int width) {
  const std::int64_t at = t.c_at[place];
  if (at < 0) return;
  const std::int64_t old_at = t.old != nullptr ? t.old_at[place] : -1;
  const int line = lane_number() / 4, pair = lane_number() % 4;
#pragma unroll
  for (int p = 0; p < T; ++p) {
    const int row = 8 * p + line;
#pragma unroll
    for (int q = 0; q < T; ++q) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = 8 * q + 2 * pair + e;
        if (row >= m || column >= n) continue;
        const std::int64_t inside = std::int64_t(row) * width + column;
        double value = t.alpha * c[p][q][e];
        if (old_at >= 0) value += t.beta * t.old[old_at + inside];
        t.c[at + inside] = value;
      }
    }
  }
}

/// One of the warps that multiply: its pieces of C are `worker` and, where it has two, `worker` + 15.
template <int T, int each, bool full>
__device__ void multiply_batches(const PanelArguments& t, const Batch* batches, const double* ring,
                                 std::uint64_t* arrived, std::uint64_t* done) {
  constexpr int columns = panel_shape(T).columns;
  static_assert(each * workers == panel_shape(T).rows * columns && workers % columns == 0);
  const int lane = lane_number(), worker = int(threadIdx.x / 32), s = worker % columns;
  Sums<T> c[each] = {};
  for (Turn turn;; turn.advance(t.stages)) {
    wait(arrived + turn.stage, turn.phase);
    const Batch& batch = batches[turn.stage];
    const int task = batch.task;
    if (task == Batch::no_task) return;
    const bool last = batch.last;
    const std::uint32_t mask = lane < batch.count ? batch.slots[lane].mask : 0;
    unsigned mine[each], left = 0;
#pragma unroll
    for (int w = 0; w < each; ++w) left |= mine[w] = __ballot_sync(all_lanes, mask >> (worker + w * workers) & 1);
    const int n = batch.columns[s];
    int m[each];
#pragma unroll
    for (int w = 0; w < each; ++w) m[w] = batch.rows[(worker + w * workers) / columns];
    for (; left != 0; left &= left - 1) {
      const int e = __ffs(int(left)) - 1;
      const Slot& slot = batch.slots[e];
      const double* b = ring + 2 * slot.b[s];
#pragma unroll
      for (int w = 0; w < each; ++w) {
        if ((mine[w] >> e & 1) == 0) continue;
        const double* a = ring + 2 * slot.a[(worker + w * workers) / columns];
        add_product<T, full>(c[w], a, b, slot.k, (m[w] + 7) / 8, (n + 7) / 8);
      }
    }
    __syncwarp();
    if (lane == 0) arrive(done + turn.stage);
    if (!last) continue;
    const std::int32_t column = t.column_panel[task] * columns + s;
#pragma unroll
    for (int w = 0; w < each; ++w) {
      if (column < t.column_pieces) {
        write_piece<T>(t, c[w], 32 * std::int64_t(task) + worker + w * workers, m[w], n, t.columns[column].whole);
      }
#pragma unroll
      for (int p = 0; p < T; ++p) {
#pragma unroll
        for (int q = 0; q < T; ++q) c[w][p][q][0] = c[w][p][q][1] = 0;
      }
    }
  }
}

// ---- what brings ----------------------------------------------------------------------------------------------------

/// What the warp that brings knows of the task it is at.
template <int T>
struct TaskToBring {
  static constexpr int rows = panel_shape(T).rows, columns = panel_shape(T).columns;
  int task;
  std::int64_t at, end;                ///< steps
  std::uint8_t sizes[rows + columns];  ///< of the panels' pieces

  __device__ TaskToBring(const PanelArguments& t, std::int64_t number) : task(int(number)) {
    const int lane = lane_number();
    const std::int32_t row = t.row_panel[task] * rows + lane, column = t.column_panel[task] * columns + lane - rows;
    at = t.step_first[task];
    end = t.step_first[task + 1];
    int size = 0;
    if (lane < rows && row < t.row_pieces) size = t.rows[row].size;
    if (lane >= rows && lane < rows + columns && column < t.column_pieces) size = t.columns[column].size;
#pragma unroll
    for (int p = 0; p < rows + columns; ++p) sizes[p] = std::uint8_t(__shfl_sync(all_lanes, size, p));
  }

  /// Where the pieces of a step begin, in 16 bytes, when the first begins at `begin`; gives where they end.
  __device__ __forceinline__ static int lay_out(std::uint32_t mask, const std::uint8_t* sizes, int pieces,
                                                int half_length, int begin, std::uint16_t* offsets) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      if (offsets != nullptr) offsets[p] = std::uint16_t(begin);
      begin += (mask >> p & 1) != 0 ? sizes[p] * half_length : 0;
    }
    return begin;
  }
};

/// The warp that brings. Lanes take 32 steps at a time, which make one batch after the other.
template <int T>
__device__ void bring_task(const PanelArguments& t, TaskToBring<T> task, Turn& turn, Batch* batches, double* ring,
                           std::uint64_t* arrived, std::uint64_t* done) {
  constexpr int rows = task.rows, columns = task.columns;
  const int lane = lane_number();
  const auto load = [&](std::int64_t at) { return at + lane < task.end ? t.steps[at + lane] : Step{}; };
  Step next = load(task.at);
  do {
    const Step step = next;
    next = load(task.at + 32);
    const int steps = int(min(task.end - task.at, std::int64_t(32)));
    const int half_length = (int(step.extents & 255) + 1) / 2;
    const std::uint32_t a_mask = step.extents >> 8 & 255, b_mask = step.extents >> 16 & 255;
    const int of_a = task.lay_out(a_mask, task.sizes, rows, half_length, 0, nullptr);
    const int of_b = task.lay_out(b_mask, task.sizes + rows, columns, half_length, 0, nullptr);
    int upto = of_a + of_b;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(all_lanes, upto, distance);
      if (lane >= distance) upto += other;
    }
    task.at += steps;
    int first = 0, before = 0;  // of the batch: its first step, and what those before it need
    do {
      const bool mine = lane >= first && lane < steps && upto - before <= t.stage_sixteens;
      const int count = __popc(__ballot_sync(all_lanes, mine));
      const int all = count > 0 ? __shfl_sync(all_lanes, upto, first + count - 1) : before;
      const int begin = turn.stage * t.stage_sixteens + upto - of_a - of_b - before;
      wait(done + turn.stage, turn.phase);
      Batch& batch = batches[turn.stage];
      if (mine) {
        Slot& slot = batch.slots[lane - first];
        slot.mask = step.mask;
        slot.k = std::uint16_t(step.extents & 255);
        task.lay_out(a_mask, task.sizes, rows, half_length, begin, slot.a);
        task.lay_out(b_mask, task.sizes + rows, columns, half_length, begin + of_a, slot.b);
      }
      if (lane == 0) {
        batch.task = task.task;
        batch.count = count;
        batch.last = task.at == task.end && first + count == steps;
#pragma unroll
        for (int p = 0; p < rows; ++p) batch.rows[p] = task.sizes[p];
#pragma unroll
        for (int p = 0; p < columns; ++p) batch.columns[p] = task.sizes[rows + p];
      }
      __syncwarp();
      if (lane == 0) arrive_with(arrived + turn.stage, 16u * unsigned(all - before));
      __syncwarp();
      if (mine) {
        bring(ring + 2 * begin, t.a + 2 * std::int64_t(step.at_a), 16u * unsigned(of_a), arrived + turn.stage);
        bring(ring + 2 * (begin + of_a), t.b + 2 * std::int64_t(step.at_b), 16u * unsigned(of_b), arrived + turn.stage);
      }
      turn.advance(t.stages);
      first += count;
      before = all;
    } while (first < steps);
  } while (task.at < task.end);
}

/// Task by task. In waves, each begins when all tasks of the one before have been brought: blocks that work at the same
/// time are at about the same k, and find what they share in the second-level cache.
template <int T>
__device__ void bring_tasks(const PanelArguments& t, Batch* batches, double* ring, std::uint64_t* arrived,
                            std::uint64_t* done) {
  const int lane = lane_number();
  Turn turn{0, 1};  // the ring is empty: its first round waits for nothing
  for (;;) {
    unsigned long long number = 0;
    if (lane == 0) number = atomicAdd(t.begun, 1ull);  // whose turn it is changes no bit
    number = __shfl_sync(all_lanes, number, 0);
    if (number >= std::uint64_t(t.tasks)) break;
    const TaskToBring<T> task(t, t.order[number]);
    if (t.waves) await(t.brought, number / gridDim.x * gridDim.x);
    bring_task(t, task, turn, batches, ring, arrived, done);
    if (lane == 0) atomicAdd(t.brought, 1ull);
  }
  wait(done + turn.stage, turn.phase);
  if (lane != 0) return;
  batches[turn.stage].task = Batch::no_task;
  arrive(arrived + turn.stage);
}
#endif

template <int T, int each, bool full>
__global__ void __launch_bounds__(block_threads, 1) multiply_tasks(const __grid_constant__ PanelArguments t) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) double ring[];
  __shared__ Batch batches[most_stages];
  __shared__ std::uint64_t arrived[most_stages], done[most_stages];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < t.stages; ++stage) {
      begin_barrier(arrived + stage, 1);
      begin_barrier(done + stage, workers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x / 32 == workers) {
    bring_tasks<T>(t, batches, ring, arrived, done);
  } else {
    multiply_batches<T, each, full>(t, batches, ring, arrived, done);
  }
#endif
}

// ---- launches -------------------------------------------------------------------------------------------------------

template <int T, bool full>
void launch(const PanelArguments& arguments, int bytes) {
  constexpr int each = panel_shape(T).rows * panel_shape(T).columns / workers;
  const auto kernel = multiply_tasks<T, each, full>;
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int device = 0, processors = 0, each_processor = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  QUADRILLE_CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each_processor, kernel, block_threads, std::size_t(bytes)));
  const auto blocks = std::min<std::int64_t>(arguments.tasks, std::int64_t(processors) * std::max(1, each_processor));
  kernel<<<unsigned(blocks), block_threads, std::size_t(bytes), cuda::stream()>>>(arguments);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

/// Whether the panels that are multiplied at a time are more than the second-level cache holds.
bool outgrows_cache(const PanelProblem& p) {
  int device = 0, cache = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
  const auto panels = [](const PackedFactor& f) {
    return double(f.data.count()) * sizeof(double) * std::min(1.0, double(task_band) / f.panels);
  };
  return panels(p.a) + panels(p.b) > cache;
}

}  // namespace

int tiles_of(const Pieces& rows, const Pieces& columns) { return std::max(rows.tiles(), columns.tiles()); }

void multiply_panels(const PanelProblem& p) {
  if (p.tasks.count == 0) return;
  const int tiles = tiles_of(p.rows, p.columns);
  const PanelShape shape = panel_shape(tiles);
  const auto counts = device_array<unsigned long long>(2);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(counts.get(), 0, 2 * sizeof(unsigned long long), cuda::stream()));
  PanelArguments t{p.tasks.step.get(),
                   p.tasks.step_first.get(),
                   p.tasks.order.get(),
                   p.tasks.count,
                   p.tasks.row_panel.get(),
                   p.tasks.column_panel.get(),
                   p.a.data.get(),
                   p.b.data.get(),
                   p.rows.piece.get(),
                   p.columns.piece.get(),
                   p.rows.count,
                   p.columns.count,
                   p.tasks.c_at.get(),
                   p.tasks.old_at.get(),
                   p.old,
                   p.c,
                   p.alpha,
                   p.beta,
                   counts.get(),
                   counts.get() + 1,
                   outgrows_cache(p),
                   0,
                   0};
  // A stage has room for one step at least, and for no more steps than a batch.
  const int half = (p.inner.largest + 1) / 2;
  const int step = half * (shape.rows * p.rows.largest + shape.columns * p.columns.largest);
  const int behind = 8 * tiles * half;  // what is read behind the last piece
  constexpr int most = (227 << 10) / 16 - (int(sizeof(Batch)) * most_stages + 2 * 8 * most_stages + 256) / 16;
  t.stages = std::min(most_stages, (most - behind) / step);
  t.stage_sixteens = std::min((most - behind) / t.stages, batch_steps * step);
  const int bytes = 16 * (t.stages * t.stage_sixteens + behind);
  const bool full = p.rows.alike && p.columns.alike && p.rows.tiles() == p.columns.tiles();
  const auto run = [&]<int T>() { full ? launch<T, true>(t, bytes) : launch<T, false>(t, bytes); };
  switch (tiles) {
    case 1: return run.operator()<1>();
    case 2: return run.operator()<2>();
    case 3: return run.operator()<3>();
    default: return run.operator()<4>();
  }
}

}  // namespace quadrille::block_dft
