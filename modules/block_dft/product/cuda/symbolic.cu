#include "modules/block_dft/product/cuda/symbolic.h"

#include "core/error.h"
#include "modules/block_dft/product/csr_level.h"
#include "modules/block_dft/product/cuda/symbolic_view.cuh"

#include <cub/device/device_reduce.cuh>

#include <limits>
#include <string>

namespace quadrille::block_dft {
namespace {

constexpr std::int32_t no_k = std::numeric_limits<std::int32_t>::max();

// ---- steps ----------------------------------------------------------------------------------------------------------

struct SumOfWork {
  __host__ __device__ WorkSums operator()(WorkSums x, const WorkSums& y) const { return x += y; }
};

/// What a lane knows of its piece (r, s) of C.
struct PieceOfC {
  int r = 0, s = 0;
  bool active = false;  ///< products count
  bool begins = false;  ///< the first piece of its block
  bool was = false;     ///< of a block that C had
  Piece row{}, column{};

  __device__ PieceOfC(const ProblemView& v, std::int32_t row_panel, std::int32_t column_panel) {
    const int lane = lane_number();
    r = lane / v.shape.columns;
    s = lane % v.shape.columns;
    const std::int32_t i = row_panel * v.shape.rows + r, j = column_panel * v.shape.columns + s;
    if (r >= v.shape.rows || i >= v.row_pieces || j >= v.column_pieces) return;
    row = v.rows[i];
    column = v.columns[j];
    if (v.upper && column.block < row.block) return;
    was = v.has_old && find_slot(v.old, row.block, column.block) >= 0;
    active = !v.retain || was;
    begins = row.begin == 0 && column.begin == 0;
  }
};

/// The entries of two panels that share k, 32 of A at a time: body(match, entry of A, entry of B) for all lanes at
/// once.
template <class Body>
__device__ __forceinline__ void for_shared_inner(const ProblemView& v, std::int32_t row_panel,
                                                 std::int32_t column_panel, Body body) {
  const int lane = lane_number();
  std::int64_t a = v.a.panel_first[row_panel], b = v.b.panel_first[column_panel];
  const std::int64_t a_end = v.a.panel_first[row_panel + 1], b_end = v.b.panel_first[column_panel + 1];
  const auto load = [lane](const std::int32_t* k, std::int64_t at, std::int64_t end) {
    return at + lane < end ? k[at + lane] : no_k;
  };
  std::int32_t of_a = load(v.a.k, a, a_end), of_b = load(v.b.k, b, b_end);
  while (a < a_end && b < b_end) {
    int place = 0;
#pragma unroll
    for (int stride = 16; stride > 0; stride /= 2) {
      if (__shfl_sync(all_lanes, of_b, place + stride - 1) < of_a) place += stride;
    }
    const bool match = __shfl_sync(all_lanes, of_b, place) == of_a && of_a != no_k;
    body(match, a + lane, b + place);
    const std::int32_t last_a = __shfl_sync(all_lanes, of_a, 31), last_b = __shfl_sync(all_lanes, of_b, 31);
    if (last_a <= last_b) of_a = load(v.a.k, a += 32, a_end);
    if (last_b <= last_a) of_b = load(v.b.k, b += 32, b_end);
  }
}

/// Piece (r, s) for each r of A's mask and s of B's.
__device__ __forceinline__ std::uint32_t outer_product(const PanelShape& shape, std::uint32_t a, std::uint32_t b) {
  std::uint32_t mask = 0;
  for (int r = 0; r < shape.rows; ++r) mask |= (a >> r & 1) != 0 ? b << (r * shape.columns) : 0;
  return mask;
}

/// A product of the lane's pieces at one entry of each factor.
struct Candidate {
  bool there = false;
  Fate fate = Fate::full;
  double size = 0;  ///< norm(A) norm(B), where there is a filter
  __device__ bool is(Fate wanted) const { return there && fate == wanted; }
};

/// What one entry of each factor has for the lanes' pieces of C.
struct Filter {
  const ProblemView& v;
  const PieceOfC& piece;
  double skip_below = 0, single_below = 0, rounding = 0;

  __device__ Filter(const ProblemView& problem, const PieceOfC& of) : v(problem), piece(of) {
    if (!piece.active) return;
    if (v.filters) skip_below = v.limits.skip_below[piece.row.block];
    if (!v.mixes) return;
    single_below = v.limits.single_below[piece.row.block];
    rounding = v.limits.rounding[piece.row.block];
  }
  /// `a`, `b`: the first pieces of the entries.
  __device__ Candidate candidate(std::int64_t a, std::int64_t b, std::uint32_t a_mask, std::uint32_t b_mask) const {
    constexpr double most_single = 1e18;  // of a norm: products of singles stay far from overflow
    Candidate out;
    out.there = piece.active && (a_mask >> piece.r & 1) != 0 && (b_mask >> piece.s & 1) != 0;
    if (!out.there || !v.filters) return out;
    const double of_a = v.a.norms[a + __popc(a_mask & ((1u << piece.r) - 1))];
    const double of_b = v.b.norms[b + __popc(b_mask & ((1u << piece.s) - 1))];
    out.size = of_a * of_b;
    if (out.size < skip_below) {
      out.fate = Fate::skipped;
    } else if (out.size < single_below && of_a < most_single && of_b < most_single) {
      out.fate = Fate::single;
    }
    return out;
  }
};

/// What a lane counts: of all pieces of C at its entries, or of its piece at all entries.
struct Counted {
  WorkSums sums{};                  ///< without squares
  double skipped = 0, rounded = 0;  ///< norms of what is skipped, and of what rounding changes
  std::uint32_t places = 0;         ///< of C, that have products
};

__device__ __forceinline__ std::uint32_t part_of(const ProblemView& v, std::int32_t k) {
  return v.part_of_inner != nullptr ? v.part_of_inner[k] : 0;
}

/// Writes the steps of a task one behind the other.
struct StepWriter {
  Step* to;
  const std::uint32_t *a_at, *b_at;
  std::int64_t count = 0;

  /// Of each lane with a mask; all lanes call this.
  __device__ void write(const ProblemView& v, std::int64_t a, std::int64_t b, std::uint32_t mask) {
    const unsigned kept = __ballot_sync(all_lanes, mask != 0);
    if (mask != 0) {
      to[count + __popc(kept & ((1u << lane_number()) - 1))] = {
          a_at[a], b_at[b], mask,
          std::uint32_t(v.inner[v.a.k[a]].size) | v.a.mask[a] << 8 | v.b.mask[b] << 16 | part_of(v, v.a.k[a]) << 24};
    }
    count += __popc(kept);
  }
};

/// Without a filter, and where all pieces of C count: lanes take entries.
__device__ __forceinline__ Counted find_all(const ProblemView& v, const TaskArrays& t, std::int64_t task,
                                            const PieceOfC& piece, StepWriter& full) {
  constexpr int most = 8;
  int rows[most], columns[most];
#pragma unroll
  for (int p = 0; p < most; ++p) {
    rows[p] = __shfl_sync(all_lanes, p < v.shape.rows ? piece.row.size : 0, p * v.shape.columns % 32);
    columns[p] = __shfl_sync(all_lanes, p < v.shape.columns ? piece.column.size : 0, p);
  }
  const std::uint32_t begun = __ballot_sync(all_lanes, piece.begins);
  Counted out;
  for_shared_inner(v, t.row_panel[task], t.column_panel[task], [&](bool match, std::int64_t a, std::int64_t b) {
    const std::uint32_t a_mask = match ? v.a.mask[a] : 0, b_mask = match ? v.b.mask[b] : 0;
    const std::uint32_t mask = outer_product(v.shape, a_mask, b_mask);
    full.write(v, a, b, mask);
    if (!match) return;
    const Piece at = v.inner[v.a.k[a]];
    int of_rows = 0, of_columns = 0;
#pragma unroll
    for (int p = 0; p < most; ++p) {
      of_rows += (a_mask >> p & 1) != 0 ? rows[p] : 0;
      of_columns += (b_mask >> p & 1) != 0 ? columns[p] : 0;
    }
    out.sums.flops += 2.0 * at.size * of_rows * of_columns;
    out.sums.products += at.begin == 0 ? __popc(mask & begun) : 0;
    out.places |= mask;
  });
  out.places = __reduce_or_sync(all_lanes, out.places);
  return out;
}

/// The lane's piece of C at one entry after the other.
__device__ __forceinline__ Counted find_filtered(const ProblemView& v, const TaskArrays& t, std::int64_t task,
                                                 const PieceOfC& piece, StepWriter& full, StepWriter& single) {
  const Filter filter(v, piece);
  Counted out;
  std::int64_t inner = 0, single_inner = 0;
  for_shared_inner(v, t.row_panel[task], t.column_panel[task], [&](bool match, std::int64_t a, std::int64_t b) {
    const std::uint32_t a_mask = match ? v.a.mask[a] : 0, b_mask = match ? v.b.mask[b] : 0;
    const Piece at = match ? v.inner[v.a.k[a]] : Piece{};
    const std::int64_t a_piece = match ? v.a.first_piece[a] : 0, b_piece = match ? v.b.first_piece[b] : 0;
    std::uint32_t full_mask = 0, single_mask = 0;  // of the lane's entries
    for (unsigned left = __ballot_sync(all_lanes, match); left != 0; left &= left - 1) {
      const int e = __ffs(int(left)) - 1;
      const std::int64_t one_a = __shfl_sync(all_lanes, a_piece, e), one_b = __shfl_sync(all_lanes, b_piece, e);
      const int size = __shfl_sync(all_lanes, at.size, e);
      const bool counts = __shfl_sync(all_lanes, at.begin, e) == 0 && piece.begins;
      const Candidate one =
          filter.candidate(one_a, one_b, __shfl_sync(all_lanes, a_mask, e), __shfl_sync(all_lanes, b_mask, e));
      const bool skips = one.is(Fate::skipped), rounds = one.is(Fate::single), wanted = one.there && !skips;
      const unsigned full_word = __ballot_sync(all_lanes, one.is(Fate::full));
      const unsigned single_word = __ballot_sync(all_lanes, rounds);
      if (lane_number() == e) {
        full_mask = full_word;
        single_mask = single_word;
      }
      inner += wanted ? size : 0;
      single_inner += rounds ? size : 0;
      out.sums.products += wanted && counts ? 1 : 0;
      out.sums.skipped += skips && counts ? 1 : 0;
      out.sums.single_products += rounds && counts ? 1 : 0;
      out.skipped += skips && counts ? one.size : 0.0;
      out.rounded += rounds && counts ? filter.rounding * one.size : 0.0;
    }
    full.write(v, a, b, full_mask);
    if (v.mixes) single.write(v, a, b, single_mask);
  });
  const double flops = 2.0 * piece.row.size * piece.column.size;
  out.sums.flops = flops * double(inner);
  out.sums.single_flops = flops * double(single_inner);
  out.places = __ballot_sync(all_lanes, inner > 0);
  return out;
}

/// A warp takes a task: as many steps as there may be.
__global__ void __launch_bounds__(launch_threads) count_shared(ProblemView v, TaskArrays t, std::int64_t* steps) {
  const std::int64_t task = warp_number();
  if (task >= t.tasks) return;
  std::int64_t count = 0;
  for_shared_inner(v, t.row_panel[task], t.column_panel[task],
                   [&](bool match, std::int64_t, std::int64_t) { count += __popc(__ballot_sync(all_lanes, match)); });
  if (lane_number() == 0) steps[task] = count;
}

/// What find_steps writes beside steps.
struct Found {
  std::int64_t *full_count, *single_count;  ///< [task]: of steps
  std::uint32_t* places;                    ///< [task]: of C
  std::int64_t* blocks;                     ///< of C, of each row of pieces of a task: TaskArrays::place
  WorkSums* sums;                           ///< [task]
};

/// A warp takes a task: its steps are found, its work is summed up, and its blocks of C are found.
__global__ void __launch_bounds__(launch_threads)
    find_steps(ProblemView v, TaskArrays t, const std::int64_t* step_first, Step* full_steps, Step* single_steps,
               Found found) {
  const std::int64_t task = warp_number();
  if (task >= t.tasks) return;
  const int lane = lane_number();
  const PieceOfC piece(v, t.row_panel[task], t.column_panel[task]);
  const bool all = !v.filters && !v.upper && !v.retain;
  StepWriter full{full_steps + step_first[task], v.a.at, v.b.at};
  StepWriter single{single_steps + step_first[task], v.a.single_at, v.b.single_at};
  const Counted counted = all ? find_all(v, t, task, piece, full) : find_filtered(v, t, task, piece, full, single);
  const std::uint32_t there = counted.places | __ballot_sync(all_lanes, piece.was);
  const std::uint32_t begun = there & __ballot_sync(all_lanes, piece.begins);
  if (lane < v.shape.rows) {
    found.blocks[t.place(task, lane, v.shape.rows)] =
        __popc(begun >> (lane * v.shape.columns) & ((1u << v.shape.columns) - 1));
  }
  const double weight = v.upper && piece.row.block != piece.column.block ? 2 : 1;
  const WorkSums sum{warp_sum(counted.sums.products),
                     warp_sum(counted.sums.skipped),
                     warp_sum(counted.sums.single_products),
                     warp_sum(counted.sums.flops),
                     warp_sum(counted.sums.single_flops),
                     warp_sum(weight * counted.skipped * counted.skipped),
                     warp_sum(weight * counted.rounded * counted.rounded)};
  if (lane != 0) return;
  found.full_count[task] = full.count;
  if (v.mixes) found.single_count[task] = single.count;
  found.places[task] = there;
  found.sums[task] = sum;
}

// ---- the places of C ------------------------------------------------------------------------------------------------

__global__ void write_first(ProblemView v, TaskArrays t, std::int32_t blocks_of_rows, const std::int64_t* slots,
                            std::int64_t* first) {
  const std::int64_t i = thread_number();
  if (i > blocks_of_rows) return;
  const std::int32_t piece = v.row_first[i], panel = piece / v.shape.rows;
  if (piece == v.row_pieces) {
    first[i] = slots[t.tasks * v.shape.rows];
    return;
  }
  const std::int64_t begin = t.first_of_row[panel], many = t.first_of_row[panel + 1] - begin;
  first[i] = slots[begin * v.shape.rows + piece % v.shape.rows * many];
}

__global__ void write_columns(ProblemView v, TaskArrays t, const std::uint32_t* places, const std::int64_t* slots,
                              std::int32_t* column, std::int64_t* numbers) {
  const std::int64_t task = warp_number();
  if (task >= t.tasks) return;
  const int lane = lane_number();
  const PieceOfC piece(v, t.row_panel[task], t.column_panel[task]);
  const std::uint32_t begun = places[task] & __ballot_sync(all_lanes, piece.begins);
  if ((begun >> lane & 1) == 0) return;
  const std::uint32_t earlier = begun & ((1u << lane) - 1) & ~((1u << (piece.r * v.shape.columns)) - 1);
  const std::int64_t slot = slots[t.place(task, piece.r, v.shape.rows)] + __popc(earlier);
  column[slot] = piece.column.block;
  numbers[slot] = std::int64_t(piece.row.whole) * piece.column.whole;
}

__global__ void write_places(ProblemView v, TaskArrays t, const std::uint32_t* places, MatrixView c, std::int64_t* c_at,
                             std::int64_t* old_at) {
  const std::int64_t task = warp_number();
  if (task >= t.tasks) return;
  const int lane = lane_number();
  const PieceOfC piece(v, t.row_panel[task], t.column_panel[task]);
  const bool there = (places[task] >> lane & 1) != 0;
  const std::int64_t inside = std::int64_t(piece.row.begin) * piece.column.whole + piece.column.begin;
  const auto place = [&](const MatrixView& m) {
    const std::int64_t slot = find_slot(m, piece.row.block, piece.column.block);
    return slot < 0 ? -1 : m.at[slot] + inside;
  };
  c_at[32 * task + lane] = there ? place(c) : -1;
  if (v.has_old) old_at[32 * task + lane] = there && piece.was ? place(v.old) : -1;
}

ProblemView view_of(const SymbolicProblem& p) {
  ProblemView v{view_of(p.a),
                view_of(p.b),
                p.rows.piece.get(),
                p.inner.piece.get(),
                p.columns.piece.get(),
                p.rows.first.get(),
                p.columns.first.get(),
                p.rows.count,
                p.columns.count,
                p.a.panels,
                p.b.panels,
                p.shape,
                p.upper,
                p.filters,
                p.mixes,
                p.old != nullptr,
                p.retain,
                p.limits,
                {},
                p.parts != nullptr ? p.parts->of_piece.get() : nullptr};
  if (p.old != nullptr) v.old = p.old->view();
  return v;
}

}  // namespace

Tasks find_tasks(const SymbolicProblem& problem, MemoryBudget& budget, DeviceMatrix::Data& c) {
  const ProblemView v = view_of(problem);
  const int rows = problem.shape.rows;
  Tasks tasks;
  const DeviceArray<std::int64_t> first_of_row = list_tasks(problem, v, tasks);
  order_tasks(v, tasks);
  const TaskArrays t{tasks.row_panel.get(), tasks.column_panel.get(), first_of_row.get(), tasks.count};

  tasks.step_first = zeroed(tasks.count + 1);
  launch_warps(tasks.count, count_shared, v, t, tasks.step_first.get());
  sum_before(tasks.step_first);
  constexpr std::int64_t of_task = 64 + 8 * 32;  // arrays of this file, and places in C
  const std::int64_t lists = problem.mixes ? 2 : 1, places_of_task = problem.old != nullptr ? 8 * 32 : 0;
  budget.take(tasks.count * (of_task + places_of_task) +
              lists * last_of(tasks.step_first) * std::int64_t(sizeof(Step)));
  for (StepList* list : {&tasks.full, &tasks.single}) {
    if (list == &tasks.single && !problem.mixes) continue;
    list->count = device_array<std::int64_t>(tasks.count);
    list->step = device_array<Step>(last_of(tasks.step_first));
  }

  auto slots = zeroed(tasks.count * rows + 1);
  const auto places = device_array<std::uint32_t>(tasks.count);
  const auto sums = device_array<WorkSums>(tasks.count), sum = device_array<WorkSums>(1);
  launch_warps(tasks.count, find_steps, v, t, static_cast<const std::int64_t*>(tasks.step_first.get()),
               tasks.full.step.get(), tasks.single.step.get(),
               Found{tasks.full.count.get(), tasks.single.count.get(), places.get(), slots.get(), sums.get()});
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(memory, bytes, sums.get(), sum.get(), tasks.count, SumOfWork{}, WorkSums{},
                                     cuda::stream());
  });
  sum_before(slots);
  tasks.sums = last_of(sum);

  c.blocks = last_of(slots);
  if (c.blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                "C would have " + std::to_string(c.blocks) + " blocks: a GPU takes matrices of up to 2^31 - 1");
  }
  c.first = device_array<std::int64_t>(problem.rows.blocks + 1);
  c.column = device_array<std::int32_t>(c.blocks);
  c.at = zeroed(c.blocks + 1);
  launch_each(problem.rows.blocks + 1, write_first, v, t, problem.rows.blocks, slots.get(), c.first.get());
  launch_warps(tasks.count, write_columns, v, t, places.get(), slots.get(), c.column.get(), c.at.get());
  sum_before(c.at);
  c.numbers = last_of(c.at);
  constexpr std::int64_t of_index = 12, of_filter = 32;  // bytes of a block
  budget.take(c.blocks * (of_index + of_filter) + 8 * c.numbers * (problem.filters ? 2 : 1));
  c.numbers_there = device_array<double>(c.numbers);
  tasks.c_at = device_array<std::int64_t>(32 * tasks.count);
  if (problem.old != nullptr) tasks.old_at = device_array<std::int64_t>(32 * tasks.count);
  launch_warps(tasks.count, write_places, v, t, places.get(), c.view(), tasks.c_at.get(), tasks.old_at.get());
  return tasks;
}

}  // namespace quadrille::block_dft
