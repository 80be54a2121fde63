#include "modules/shared/dense/panel_plan.h"

#include "core/error.h"
#include "core/numbers/divide_up.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace quadrille {
namespace {

/// Forward in even rounds, backward in odd ones.
std::int64_t to_and_fro(std::int64_t index, std::int64_t count, std::int64_t round) {
  return round % 2 == 0 ? index : count - 1 - index;
}

/// The most columns of a block of C, when it has `rows` rows and panels are `depth` long; below 1 when none fits.
std::int64_t columns_that_fit(std::int64_t rows, std::int64_t depth, const PanelMemory& memory) {
  if (memory.cap == 0) return memory.max_extent;
  const double a = double(memory.ab_buffers) * memory.a_bytes * double(rows) * double(depth);
  const double per_column = double(memory.c_buffers) * memory.c_bytes * double(rows) +
                            double(memory.ab_buffers) * memory.b_bytes * double(depth);
  const double fit = std::floor((double(memory.cap) - a) / per_column);
  return fit < 1 ? 0 : std::int64_t(std::min(fit, double(memory.max_extent)));
}

/// Numbers of blocks that are tried: all small ones, then steps of a twentieth.
std::int64_t next_count(std::int64_t count) { return count + std::max<std::int64_t>(1, count / 20); }

/// The shortest panel along k that is tried first (see plan_panels).
std::int64_t shortest_depth(const ProductShape& shape, const PanelMemory& memory) {
  const std::int64_t longest = std::max<std::int64_t>(1, std::min(shape.k, memory.max_k));
  if (memory.cap == 0) return longest;
  const int widest = std::max({memory.a_bytes, memory.b_bytes, memory.c_bytes});
  const double numbers = double(memory.cap) / widest;
  return std::clamp<std::int64_t>(std::int64_t(std::sqrt(numbers) / 16), 1, std::min<std::int64_t>(256, longest));
}

struct Search {
  ProductShape shape;
  PanelMemory memory;
  bool read_c;
  std::optional<PanelPlan> best{};
  double least = std::numeric_limits<double>::infinity();

  void offer(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    for (bool rows_outer : {true, false}) {
      const PanelPlan plan(shape, rows, columns, depth, rows_outer);
      const double traffic = plan.traffic(memory, read_c);
      // Among equals, fewer steps.
      if (best && (traffic > least || (traffic == least && plan.steps() >= best->steps()))) continue;
      if (memory.cap > 0 && plan.bytes(memory) > memory.cap) continue;
      best = plan;
      least = traffic;
    }
  }
  void try_depth(std::int64_t depth) {
    const std::int64_t m = std::max<std::int64_t>(1, shape.m), n = std::max<std::int64_t>(1, shape.n);
    for (std::int64_t count = divide_up(m, memory.max_extent); count <= m; count = next_count(count)) {
      const std::int64_t rows = divide_up(m, count);
      const std::int64_t fit = columns_that_fit(rows, depth, memory);
      if (fit >= 1) offer(rows, divide_up(n, divide_up(n, std::min(n, fit))), depth);
    }
    const std::int64_t fit = columns_that_fit(1, depth, memory);
    if (fit >= 1) offer(1, std::min(n, fit), depth);
  }
};

}  // namespace

PanelPlan::PanelPlan(const ProductShape& shape, std::int64_t rows, std::int64_t columns, std::int64_t depth,
                     bool rows_outer)
    : shape_(shape), rows_(rows), columns_(columns), depth_(depth), rows_outer_(rows_outer) {
  row_blocks_ = divide_up(shape.m, rows);
  column_blocks_ = divide_up(shape.n, columns);
  depth_blocks_ = std::max<std::int64_t>(1, divide_up(shape.k, depth));
}

PanelPlan::Place PanelPlan::place(std::int64_t number) const {
  const std::int64_t block = number / depth_blocks_;
  const std::int64_t inner_count = rows_outer_ ? column_blocks_ : row_blocks_;
  const std::int64_t outer = block / inner_count;
  const std::int64_t inner = to_and_fro(block % inner_count, inner_count, outer);
  const std::int64_t depth = to_and_fro(number % depth_blocks_, depth_blocks_, block);
  return rows_outer_ ? Place{outer, inner, depth} : Place{inner, outer, depth};
}

PanelStep PanelPlan::step(std::int64_t number) const {
  const Place here = place(number);
  const auto extent = [](std::int64_t block, std::int64_t size, std::int64_t total) {
    return std::min(size, total - block * size);
  };
  PanelStep step;
  step.row = here.row * rows_;
  step.rows = extent(here.row, rows_, shape_.m);
  step.column = here.column * columns_;
  step.columns = extent(here.column, columns_, shape_.n);
  step.depth = here.depth * depth_;
  step.depths = extent(here.depth, depth_, shape_.k);
  step.begins_c = number % depth_blocks_ == 0;
  step.ends_c = (number + 1) % depth_blocks_ == 0;
  step.load_a = step.load_b = true;
  if (number > 0) {
    const Place before = place(number - 1);
    step.load_a = before.row != here.row || before.depth != here.depth;
    step.load_b = before.column != here.column || before.depth != here.depth;
  }
  return step;
}

std::int64_t PanelPlan::bytes(const PanelMemory& memory) const {
  return memory.ab_buffers * depth_ * (memory.a_bytes * rows_ + memory.b_bytes * columns_) +
         std::int64_t(memory.c_buffers) * memory.c_bytes * rows_ * columns_;
}

double PanelPlan::traffic(const PanelMemory& memory, bool read_c) const {
  const double p = double(row_blocks_), q = double(column_blocks_), r = double(depth_blocks_);
  const double outer = rows_outer_ ? p : q, inner = rows_outer_ ? q : p;
  // Within an outer block the panel of the outer matrix at each turn of the inner loop is the one before; between two
  // outer blocks that of the inner matrix. With r = 1 every turn of the inner loop is one.
  const double of_outer = outer * (inner * r - (inner - 1)), of_inner = outer * inner * r - (outer - 1);
  const double loads_a = rows_outer_ ? of_outer : of_inner, loads_b = rows_outer_ ? of_inner : of_outer;
  const double m = double(shape_.m), n = double(shape_.n), k = double(shape_.k);
  const double a = p * r > 0 ? loads_a * m * k / (p * r) : 0, b = q * r > 0 ? loads_b * k * n / (q * r) : 0;
  return memory.a_bytes * a + memory.b_bytes * b + memory.c_bytes * m * n * (read_c ? 2 : 1);
}

std::optional<PanelPlan> find_panels(const ProductShape& shape, const PanelMemory& memory, bool read_c) {
  Search search{shape, memory, read_c};
  const std::int64_t k = std::max<std::int64_t>(1, shape.k), longest = std::min(k, memory.max_k);
  const std::int64_t shortest = std::min(memory.min_k, longest);
  // Panels of equal length: those of the last one would else be wasted memory.
  const auto try_near = [&](std::int64_t depth) {
    const std::int64_t equal = divide_up(k, divide_up(k, depth));
    search.try_depth(equal < shortest ? depth : equal);
  };
  std::int64_t depth = std::max(shortest, shortest_depth(shape, memory));
  for (std::int64_t longer = depth; longer < longest; longer *= 2) try_near(longer);
  try_near(longest);
  while (!search.best && depth > shortest) try_near(depth = std::max(shortest, depth / 2));
  return search.best;
}

PanelPlan plan_panels(const ProductShape& shape, const PanelMemory& memory, bool read_c) {
  if (const std::optional<PanelPlan> found = find_panels(shape, memory, read_c)) return *found;
  const std::int64_t least = PanelPlan({1, 1, 1}, 1, 1, 1, true).bytes(memory);
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("a memory cap of {} bytes is too small for panels: give at least {} (and much more for speed)",
                  memory.cap, least));
}

}  // namespace quadrille
