#include "modules/block_dft/product/ranks/cuda/multiply_on_ranks.h"

#include "core/error.h"
#include "modules/block_dft/product/cuda/panels/panel_shape.h"
#include "modules/block_dft/product/ranks/cuda/device_cannon.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace quadrille::block_dft {
namespace {

/// op(A) with every block stored; A itself where it is that already.
class Operand {
 public:
  Operand(Transpose op, const DeviceMatrix& a) : matrix_(&a) {
    if (a.symmetry() != Symmetry::none) keep(without_symmetry(a));
    if (op == Transpose::yes && a.symmetry() != Symmetry::symmetric) keep(transposed(*matrix_));
  }
  const DeviceMatrix& operator*() const { return *matrix_; }

 private:
  void keep(DeviceMatrix made) {
    made_ = std::move(made);
    matrix_ = &*made_;
  }
  std::optional<DeviceMatrix> made_;
  const DeviceMatrix* matrix_;
};

/// The blocks of a side that this rank has: those of its row, or of its column, of the grid.
std::vector<std::int32_t> own_blocks(const BlockSizes& sizes, int of, int mine) {
  std::vector<std::int32_t> out;
  for (std::int32_t block = 0; block < sizes.count(); ++block) {
    if (sizes.place(block) % of == mine) out.push_back(block);
  }
  return out;
}

/// The index of this rank's rows of A and columns of B.
struct Indices {
  DeviceIndex a, b;
  double panel_bytes = 0;  ///< of the largest panels of A and B together, on any rank

  Indices(const MatrixGrid& grid, const DeviceMatrix& left, const DeviceMatrix& right, bool filters, bool mixes) {
    DeviceArray<IndexEntry> of_a, of_b;
    double numbers[2] = {};
    on_every_rank(grid.ranks(), [&] {
      of_a = index_entries(left, filters);
      of_b = index_entries(right, filters);
      numbers[0] = largest_panel(left, true);
      numbers[1] = largest_panel(right, false);
    });  // which has waited for the device
    grid.ranks().maximum(numbers, 2);
    panel_bytes = (sizeof(double) + (mixes ? sizeof(float) : 0)) * (numbers[0] + numbers[1]);
    a = gathered_index(grid, left.rows(), left.columns(), of_a, grid.ranks_of_row());
    b = gathered_index(grid, right.rows(), right.columns(), of_b, grid.ranks_of_column());
  }
};

/// What a product needs of this rank's memory but for the panels of others: its part of the symbolic phase.
struct PartOfC {
  PartOfC(double alpha, const DeviceMatrix& left, const DeviceMatrix& right, const Indices& indices,
          const CannonSchedule& schedule, const DeviceMatrix* old, Symmetry symmetry, const MultiplyOptions& options);

  std::int32_t most;
  Pieces rows, inner, columns;
  PanelShape shape;
  InnerParts parts;
  PackedFactor own_a, own_b, whole_a, whole_b;
  DeviceArray<double> skip_below;
  SingleLimits single;
  DeviceMatrix result;
  Tasks tasks;
  std::optional<PartSteps> full_steps, single_steps;

 private:
  void cut(const BlockSizes& of_rows, const BlockSizes& of_k, const BlockSizes& of_columns,
           const CannonSchedule& schedule);
};

/// Blocks along k, and their pieces, in the order of the steps that multiply them.
void PartOfC::cut(const BlockSizes& of_rows, const BlockSizes& of_k, const BlockSizes& of_columns,
                  const CannonSchedule& schedule) {
  const MatrixGrid& grid = *of_rows.grid();
  most = unit_for(of_rows, of_columns);
  rows = pieces_of(of_rows, own_blocks(of_rows, grid.rows(), grid.row()), most);
  columns = pieces_of(of_columns, own_blocks(of_columns, grid.columns(), grid.column()), most);
  shape = panel_shape(most, tiles_of(rows, columns));
  const std::vector<int> step_of = schedule.steps_of(of_k);
  std::vector<std::int32_t> order(step_of.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t k, std::int32_t l) { return step_of[std::size_t(k)] < step_of[std::size_t(l)]; });
  inner = pieces_of(of_k, order, most_inner);
  std::vector<std::uint32_t> of_piece;
  for (const Piece& piece : cuda::fetched(inner.piece.get(), inner.count)) {
    of_piece.push_back(std::uint32_t(step_of[std::size_t(piece.block)]));
  }
  parts = {schedule.steps(), cuda::sent(of_piece, device_what, device_advice)};
}

PartOfC::PartOfC(double alpha, const DeviceMatrix& left, const DeviceMatrix& right, const Indices& indices,
                 const CannonSchedule& schedule, const DeviceMatrix* old, Symmetry symmetry,
                 const MultiplyOptions& options) {
  const bool filters = options.eps > 0, mixes = options.mixed && filters;
  cut(left.rows(), left.columns(), right.columns(), schedule);
  own_a = pack({left.data(), false, rows, inner, shape.rows, nullptr, mixes, &parts});
  own_b = pack({right.data(), true, columns, inner, shape.columns, nullptr, mixes, &parts});
  const DeviceIndex &a = indices.a, &b = indices.b;
  const auto norms = [&](const DeviceIndex& of) { return filters ? of.norms.get() : nullptr; };
  whole_a = pack({a.places, false, rows, inner, shape.rows, norms(a), mixes, &parts, false});
  whole_b = pack({b.places, true, columns, inner, shape.columns, norms(b), mixes, &parts, false});
  if (filters) skip_below = row_limits(whole_a.outer_blocks, options.eps, alpha);
  if (mixes) single = single_limits(whole_a.outer_elements, skip_below);
  DeviceMatrix::Data& sum = result.data();
  sum.rows = left.rows();
  sum.columns = right.columns();
  sum.symmetry = symmetry;
  MemoryBudget budget;
  tasks = find_tasks({whole_a,
                      whole_b,
                      rows,
                      inner,
                      columns,
                      shape,
                      symmetry != Symmetry::none,
                      filters,
                      mixes,
                      {skip_below.get(), single.below.get(), single.rounding.get()},
                      old != nullptr ? &old->data() : nullptr,
                      options.retain_sparsity,
                      &parts},
                     budget, sum);
  full_steps.emplace(tasks.count);
  if (mixes) single_steps.emplace(tasks.count);
  cuda_backend().synchronize();
}

/// This rank's part of C, and the panels of A and B on their way.
struct Product {
  std::optional<CannonSchedule> schedule;
  std::optional<PartOfC> part;
  std::optional<PanelFlow> flow;

  /// make(schedule, part) makes the part. Panels along k, of so many blocks, are cut into as few pieces as the windows'
  /// share of the memory allows, and into more where so much is not free. Errors: NotEnoughMemory on all ranks.
  template <class Make>
  Product(const MatrixGrid& grid, const Indices& indices, const MultiplyOptions& options, int inner_blocks,
          const Make& make) {
    DeviceExchange& exchange = DeviceExchange::of(grid);
    const double most_bytes = options.panel_bytes > 0 ? options.panel_bytes : exchange.most_bytes();
    const int most = std::max(1, std::min(inner_blocks, most_parts) / grid.places());
    int pieces = CannonSchedule::pieces_for(grid, 2 * indices.panel_bytes, most_bytes, most);
    while (!flow) {
      schedule.emplace(grid, pieces);
      bool has_part = false;
      try {
        const std::string reason = shortage(grid.ranks(), [&] { make(*schedule, part); });
        if (!reason.empty()) throw NotEnoughMemory(reason);
        has_part = true;
        flow.emplace(grid, *schedule, part->own_a, part->own_b, part->whole_a, part->whole_b);
      } catch (const NotEnoughMemory&) {  // on all ranks
        if (has_part ? pieces == most : !exchange.has_windows()) throw;
        if (has_part) pieces = std::min(2 * pieces, most);
        part.reset();
        exchange.release();
        on_every_rank(grid.ranks(), [] { cuda::trim(); });
      }
    }
  }
};

/// Times of a stream, between which it is busy or waits.
class StepClock {
 public:
  void record() {
    cudaEvent_t event = nullptr;
    QUADRILLE_CUDA_CHECK(cudaEventCreate(&event));
    marks_.emplace_back(event);
    QUADRILLE_CUDA_CHECK(cudaEventRecord(event, cuda::stream()));
  }
  void wait_for(std::size_t mark) const { QUADRILLE_CUDA_CHECK(cudaEventSynchronize(marks_[mark].get())); }
  /// The sum over marks 0 to 1, 2 to 3, ...
  double busy_seconds() const {
    double sum = 0;
    for (std::size_t n = 0; n + 1 < marks_.size(); n += 2) {
      float milliseconds = 0;
      QUADRILLE_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, marks_[n].get(), marks_[n + 1].get()));
      sum += 1e-3 * double(milliseconds);
    }
    return sum;
  }

 private:
  std::vector<cuda::OwnedEvent> marks_;
};

/// C = alpha A B + beta C, step by step: while one is multiplied the panels of the next are brought. Gives the seconds
/// in which the device multiplied.
double multiply_steps(const Communicator& ranks, Product& product, double alpha, double beta, const DeviceMatrix& old) {
  PartOfC& part = *product.part;
  PanelFlow& flow = *product.flow;
  PanelProblem problem{part.most,
                       part.tasks,
                       part.whole_a,
                       part.whole_b,
                       part.rows,
                       part.inner,
                       part.columns,
                       alpha,
                       beta,
                       beta != 0 ? old.data().numbers_there.get() : nullptr,
                       part.result.data().numbers_there.get()};
  StepClock clock;
  const auto multiply_step = [&](int step) {
    clock.record();
    part.full_steps->find(part.tasks, part.tasks.full, step);
    PanelPart here{
        {part.full_steps->first.get(), part.full_steps->count.get(), flow.a<double>(step), flow.b<double>(step)},
        {},
        step > 0};
    if (part.single_steps) {
      part.single_steps->find(part.tasks, part.tasks.single, step);
      here.single = {part.single_steps->first.get(), part.single_steps->count.get(), flow.a<float>(step),
                     flow.b<float>(step)};
    }
    problem.part = &here;
    if (step == 0) problem.variant = tuned_variant(problem);
    multiply_full(problem);
    add_single(problem);
    clock.record();
    if (step > 0) clock.wait_for(2 * std::size_t(step) - 1);  // the next panels come where those of that step were
  };
  KeptError error;
  for (int step = 0; step < product.schedule->steps(); ++step) {
    flow.bring(step);
    error.keep([&] { multiply_step(step); });
  }
  return on_every_rank(ranks, [&] {
    flow.rethrow();
    error.rethrow();
    cuda_backend().synchronize();
    return clock.busy_seconds();
  });
}

}  // namespace

MultiplyReport multiply_on_ranks(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                 const DeviceMatrix& b, double beta, DeviceMatrix& c, const MultiplyOptions& options) {
  const double began = now();
  const MatrixGrid& grid = *c.rows().grid();
  if (grid.places() > most_parts) {
    throw Error(ErrorCode::unsupported,
                fmt::format("a grid of {} x {} ranks has {} panels along k, and products on GPUs take up to {}: choose "
                            "one that is nearer to a square",
                            grid.rows(), grid.columns(), grid.places(), most_parts));
  }
  const bool filters = options.eps > 0;
  const Operand left(op_a, a);
  std::optional<Operand> other;  // often A itself
  if (&a != &b || op_a != op_b) other.emplace(op_b, b);
  const Operand& right = other ? *other : left;
  const Indices indices(grid, *left, *right, filters, options.mixed && filters);
  const bool keep = options.retain_sparsity || beta != 0;
  Product product(grid, indices, options, (*left).columns().count(),
                  [&](const CannonSchedule& schedule, std::optional<PartOfC>& part) {
                    part.emplace(alpha, *left, *right, indices, schedule, keep ? &c : nullptr, c.symmetry(), options);
                  });
  MultiplyReport report;
  report.index_seconds = now() - began;
  report.product_seconds = multiply_steps(grid.ranks(), product, alpha, beta, c);
  report.exchange_seconds = now() - began - report.index_seconds - report.product_seconds;
  DeviceMatrix& result = product.part->result;
  if (c.symmetry() != Symmetry::none) symmetrise_on_device(result.data());
  set_work(report, sum_over_ranks(c.rows().grid(), product.part->tasks.sums), alpha);
  report.device_flops = report.flops;
  if (!options.retain_sparsity && filters) set_filtered(report, filter(result, options.eps));
  set_bound(report);
  c = std::move(result);
  cuda_backend().synchronize();
  report.seconds = now() - began;
  return report;
}

}  // namespace quadrille::block_dft
