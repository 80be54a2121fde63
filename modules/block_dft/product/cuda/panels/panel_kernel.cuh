// A thread block has warps that multiply and one that brings what they need. The latter goes through the steps of a
// task, puts as many as fit into a batch, and asks the copy engine for their pieces: one copy of A and one of B a step,
// from the factors' packed data into a ring of batches in shared memory. The others have pieces of C, or parts of
// pieces (panel_shape.h), look up the steps of a batch that add to them, and multiply. They meet only where a batch is
// full and where it may be overwritten, at barriers at which every thread arrives itself; a task's first batches arrive
// while the task before is finished. A piece of C gets its terms in ascending k.
#pragma once

#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/product/cuda/panels/panel_kernel.h"
#include "modules/block_dft/product/cuda/panels/panel_products.cuh"
#include "modules/block_dft/product/cuda/panels/panel_ring.cuh"
#include "modules/block_dft/product/cuda/panels/panel_shape.h"

#include <algorithm>

namespace quadrille::block_dft {
namespace {

/// T is the factors' format.
template <class T>
struct PanelArguments {
  const Step* steps;
  const std::int64_t *step_first, *step_count, *order;
  std::int64_t tasks;
  const std::int32_t *row_panel, *column_panel;
  const T *a, *b;
  const Piece *rows, *columns;
  std::int32_t row_pieces, column_pieces;
  const std::int64_t *c_at, *old_at;
  const double* old;
  double* c;
  double alpha, beta;
  unsigned long long *begun, *brought;  ///< counts of tasks
  bool adds;                            ///< to what C has; tasks without steps are left out
  bool waves;
  int ring, batch;  ///< room in the ring, and for how much of it batches of several steps are made; in 16 bytes
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
// ---- what multiplies ------------------------------------------------------------------------------------------------

/// The part of a warp: from row and column `row` and `column` of the pieces `first`, `first` + groups, ... of a task.
template <class S>
struct Part {
  int first, row, column;

  __device__ Part() {
    const int worker = int(threadIdx.x / 32), inside = worker % S::warps_of_piece;
    first = worker / S::warps_of_piece;
    row = 8 * S::tiles_m * (inside / S::grid_n);
    column = 8 * S::tiles_n * (inside % S::grid_n);
  }
  __device__ int piece(int which) const { return first + which * S::groups; }
};

/// Writes one piece of C, or a warp's part of it.
template <class T, class S>
__device__ __forceinline__ void write_piece(const PanelArguments<T>& t, const Sums<T, S::tiles_m, S::tiles_n>& c,
                                            const Part<S>& part, int task, int number) {
  const std::int64_t at = t.c_at[32 * std::int64_t(task) + number];
  if (at < 0) return;
  const std::int64_t old_at = t.old != nullptr ? t.old_at[32 * std::int64_t(task) + number] : -1;
  const int rows = t.rows[t.row_panel[task] * S::rows + number / S::columns].size;
  const Piece columns = t.columns[t.column_panel[task] * S::columns + number % S::columns];
  const int line = part.row + lane_number() / 4, pair = part.column + 2 * (lane_number() % 4);
#pragma unroll
  for (int p = 0; p < S::tiles_m; ++p) {
    const int row = line + 8 * p;
#pragma unroll
    for (int q = 0; q < S::tiles_n; ++q) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = pair + 8 * q + e;
        if (row >= rows || column >= columns.size) continue;
        const std::int64_t inside = std::int64_t(row) * columns.whole + column;
        double value = t.alpha * double(c[p][q][e]);
        if (old_at >= 0) value += t.beta * t.old[old_at + inside];
        t.c[at + inside] = value;
      }
    }
  }
}

template <class T, class S, bool full>
__device__ void multiply_batches(const PanelArguments<T>& t, const Batch* batches, const T* ring,
                                 std::uint64_t* arrived, std::uint64_t* done) {
  const int lane = lane_number();
  const Part<S> part;
  constexpr int part_of = 16 / int(sizeof(T));
  Sums<T, S::tiles_m, S::tiles_n> c[S::each] = {};
  for (Turn turn;; turn.advance(most_stages)) {
    wait(arrived + turn.stage, turn.phase);
    const Batch& batch = batches[turn.stage];
    const int task = batch.task;
    if (task == Batch::no_task) return;
    const bool last = batch.last;
    const std::uint32_t mask = lane < batch.count ? batch.slots[lane].mask : 0;
    unsigned mine[S::each], left = 0;
    int rows[S::each], columns[S::each];
#pragma unroll
    for (int w = 0; w < S::each; ++w) {
      left |= mine[w] = __ballot_sync(all_lanes, mask >> part.piece(w) & 1);
      rows[w] = batch.rows[part.piece(w) / S::columns];
      columns[w] = batch.columns[part.piece(w) % S::columns];
    }
    for (; left != 0; left &= left - 1) {
      const int e = __ffs(int(left)) - 1;
      const Slot& slot = batch.slots[e];
#pragma unroll
      for (int w = 0; w < S::each; ++w) {
        if ((mine[w] >> e & 1) == 0) continue;
        const int r = part.piece(w) / S::columns, s = part.piece(w) % S::columns;
        const int m_tiles = full ? 0 : (rows[w] - part.row + 7) / 8;
        const int n_tiles = full ? 0 : (columns[w] - part.column + 7) / 8;
        const PackedPiece<T> a{ring + part_of * slot.a[r], rows[w], part.row + lane / 4};
        const PackedPiece<T> b{ring + part_of * slot.b[s], columns[w], part.column + lane / 4};
        add_product<T, S::tiles_m, S::tiles_n, full, S::terms>(c[w], a, b, slot.k, m_tiles, n_tiles);
      }
    }
    arrive(done + turn.stage);
    if (!last) continue;
#pragma unroll
    for (int w = 0; w < S::each; ++w) {
      write_piece<T, S>(t, c[w], part, task, part.piece(w));
#pragma unroll
      for (int p = 0; p < S::tiles_m; ++p) {
#pragma unroll
        for (int q = 0; q < S::tiles_n; ++q) c[w][p][q][0] = c[w][p][q][1] = 0;
      }
    }
  }
}

// ---- what brings ----------------------------------------------------------------------------------------------------

/// What the warp that brings knows of the task it is at.
template <class S>
struct TaskToBring {
  static constexpr int rows = S::rows, columns = S::columns;
  int task;
  std::int64_t at, end;                ///< steps
  std::uint8_t sizes[rows + columns];  ///< of the panels' pieces

  template <class T>
  __device__ TaskToBring(const PanelArguments<T>& t, std::int64_t number) : task(int(number)) {
    const int lane = lane_number();
    const std::int32_t row = t.row_panel[task] * rows + lane, column = t.column_panel[task] * columns + lane - rows;
    at = t.step_first[task];
    end = at + t.step_count[task];
    int size = 0;
    if (lane < rows && row < t.row_pieces) size = t.rows[row].size;
    if (lane >= rows && lane < rows + columns && column < t.column_pieces) size = t.columns[column].size;
#pragma unroll
    for (int p = 0; p < rows + columns; ++p) sizes[p] = std::uint8_t(__shfl_sync(all_lanes, size, p));
  }

  /// Where the pieces of a step begin, in 16 bytes, when the first begins at `begin`; gives where they end.
  __device__ __forceinline__ static int lay_out(std::uint32_t mask, const std::uint8_t* sizes, int pieces, int sixteens,
                                                int begin, std::uint16_t* offsets) {
#pragma unroll
    for (int p = 0; p < pieces; ++p) {
      if (offsets != nullptr) offsets[p] = std::uint16_t(begin);
      begin += (mask >> p & 1) != 0 ? sizes[p] * sixteens : 0;
    }
    return begin;
  }
};

/// The warp that brings. Lanes take 32 steps at a time, which make one batch after the other.
template <class T, class S>
__device__ void bring_task(const PanelArguments<T>& t, TaskToBring<S> task, Turn& turn, Room& room, Batch* batches,
                           T* ring, std::uint64_t* arrived, std::uint64_t* done) {
  constexpr int rows = task.rows, columns = task.columns, part_of = 16 / int(sizeof(T));
  const int lane = lane_number();
  const auto load = [&](std::int64_t at) { return at + lane < task.end ? t.steps[at + lane] : Step{}; };
  Step next = load(task.at);
  do {
    const Step step = next;
    next = load(task.at + 32);
    const int steps = int(min(task.end - task.at, std::int64_t(32)));
    const int sixteens = padded_length<T>(int(step.extents & 255)) / part_of;
    const std::uint32_t a_mask = step.extents >> 8 & 255, b_mask = step.extents >> 16 & 255;
    const int of_a = task.lay_out(a_mask, task.sizes, rows, sixteens, 0, nullptr);
    const int of_b = task.lay_out(b_mask, task.sizes + rows, columns, sixteens, 0, nullptr);
    int upto = of_a + of_b;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(all_lanes, upto, distance);
      if (lane >= distance) upto += other;
    }
    task.at += steps;
    int first = 0, before = 0;  // of the batch: its first step, and what those before it need
    do {
      const bool mine = lane < steps && (lane == first || (lane > first && upto - before <= t.batch));
      const int count = __popc(__ballot_sync(all_lanes, mine));
      const int all = count > 0 ? __shfl_sync(all_lanes, upto, first + count - 1) : before;
      const int begin = room.take(all - before, t.ring, most_stages, turn.stage, done) + upto - of_a - of_b - before;
      Batch& batch = batches[turn.stage];
      if (mine) {
        Slot& slot = batch.slots[lane - first];
        slot.mask = step.mask;
        slot.k = std::uint16_t(step.extents & 255);
        task.lay_out(a_mask, task.sizes, rows, sixteens, begin, slot.a);
        task.lay_out(b_mask, task.sizes + rows, columns, sixteens, begin + of_a, slot.b);
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
      if (lane == 0) {
        arrive_with(arrived + turn.stage, 16u * unsigned(all - before));
      } else {
        arrive(arrived + turn.stage);
      }
      __syncwarp();
      if (mine) {
        bring(ring + part_of * begin, t.a + part_of * std::int64_t(step.at_a), 16u * unsigned(of_a),
              arrived + turn.stage);
        bring(ring + part_of * (begin + of_a), t.b + part_of * std::int64_t(step.at_b), 16u * unsigned(of_b),
              arrived + turn.stage);
      }
      turn.advance(most_stages);
      first += count;
      before = all;
    } while (first < steps);
  } while (task.at < task.end);
}

/// Task by task. In waves, each begins when three quarters of the one before have been brought: blocks that work at the
/// same time are at about the same k, and find what they share in the second-level cache.
template <class T, class S>
__device__ void bring_tasks(const PanelArguments<T>& t, Batch* batches, T* ring, std::uint64_t* arrived,
                            std::uint64_t* done) {
  const int lane = lane_number();
  Turn turn;
  Room room;
  for (;;) {
    unsigned long long number = 0;
    if (lane == 0) number = atomicAdd(t.begun, 1ull);  // whose turn it is changes no bit
    number = __shfl_sync(all_lanes, number, 0);
    if (number >= std::uint64_t(t.tasks)) break;
    const TaskToBring<S> task(t, t.order[number]);
    if (t.waves && number >= gridDim.x) await(t.brought, number / gridDim.x * gridDim.x - gridDim.x / 4);
    if (!t.adds || task.at < task.end) bring_task<T, S>(t, task, turn, room, batches, ring, arrived, done);
    if (lane == 0) atomicAdd(t.brought, 1ull);
  }
  while (room.batches > 0) room.free_oldest(most_stages, done);
  if (lane == 0) batches[turn.stage].task = Batch::no_task;
  arrive(arrived + turn.stage);
}
#endif

template <class T, class S, bool full>
__global__ void __launch_bounds__(S::threads, 1) multiply_tasks(const __grid_constant__ PanelArguments<T> t) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) double memory[];
  T* const ring = reinterpret_cast<T*>(memory);
  __shared__ Batch batches[most_stages];
  __shared__ std::uint64_t arrived[most_stages], done[most_stages];
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < most_stages; ++stage) {
      begin_barrier(arrived + stage, 32);
      begin_barrier(done + stage, 32 * S::workers);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x / 32 == S::workers) {
    bring_tasks<T, S>(t, batches, ring, arrived, done);
  } else {
    multiply_batches<T, S, full>(t, batches, ring, arrived, done);
  }
#endif
}

// ---- launches -------------------------------------------------------------------------------------------------------

/// Gives the bytes of the ring and of what is read behind it.
template <class T, class S>
int plan_ring(const PanelProblem& p, PanelArguments<T>& t) {
  constexpr int tiles = std::max(S::tiles_m * S::grid_m, S::tiles_n * S::grid_n);
  constexpr int most = 227 * 1024 / 16 - (int(sizeof(Batch)) * most_stages + 2 * 8 * most_stages + 256) / 16;
  constexpr int part_of = 16 / int(sizeof(T));
  constexpr int behind = 8 * tiles * 8 / part_of;
  const int sixteens = (p.inner.largest + part_of - 1) / part_of;
  const int step = sixteens * (S::rows * p.rows.largest + S::columns * p.columns.largest);
  t.ring = std::min(most - behind, 4 * batch_steps * step);
  t.batch = t.ring / 4;
  return 16 * (t.ring + behind);
}

template <class T, class S, bool full>
void launch(const PanelArguments<T>& t, int bytes) {
  const auto kernel = multiply_tasks<T, S, full>;
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  int device = 0, processors = 0, each_processor = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  QUADRILLE_CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each_processor, kernel, S::threads, std::size_t(bytes)));
  const auto blocks = std::min<std::int64_t>(t.tasks, std::int64_t(processors) * std::max(1, each_processor));
  kernel<<<unsigned(blocks), S::threads, std::size_t(bytes), cuda::stream()>>>(t);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

template <class T>
void multiply_steps(const PanelProblem& p, const StepList& steps, bool adds) {
  if (p.tasks.count == 0) return;
  const auto counts = device_array<unsigned long long>(2);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(counts.get(), 0, 2 * sizeof(unsigned long long), cuda::stream()));
  constexpr bool full = sizeof(T) == sizeof(double);
  const PanelPart::Format all{p.tasks.step_first.get(), steps.count.get(), p.a.numbers<T>().data.get(),
                              p.b.numbers<T>().data.get()};
  const PanelPart::Format& from = p.part == nullptr ? all : full ? p.part->full : p.part->single;
  PanelArguments<T> t{steps.step.get(),
                      from.step_first,
                      from.step_count,
                      p.tasks.order.get(),
                      p.tasks.count,
                      p.tasks.row_panel.get(),
                      p.tasks.column_panel.get(),
                      static_cast<const T*>(from.a),
                      static_cast<const T*>(from.b),
                      p.rows.piece.get(),
                      p.columns.piece.get(),
                      p.rows.count,
                      p.columns.count,
                      p.tasks.c_at.get(),
                      adds ? p.tasks.c_at.get() : p.tasks.old_at.get(),
                      adds ? p.c : p.old,
                      p.c,
                      p.alpha,
                      adds ? 1.0 : p.beta,
                      counts.get(),
                      counts.get() + 1,
                      adds,
                      p.variant.waves,
                      0,
                      0};
  with_shape(p.most, tiles_of(p.rows, p.columns), [&]<class S>(S) {
    const int bytes = plan_ring<T, S>(p, t);
    const auto fills = [](const Pieces& pieces, int tiles) { return pieces.alike && pieces.tiles() == tiles; };
    if (p.variant.all_tiles || (fills(p.rows, S::tiles_m * S::grid_m) && fills(p.columns, S::tiles_n * S::grid_n))) {
      launch<T, S, true>(t, bytes);
    } else {
      launch<T, S, false>(t, bytes);
    }
  });
}

}  // namespace

}  // namespace quadrille::block_dft
