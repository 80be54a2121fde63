// How a matrix product is cut where blocks of A stay in a limited memory while strips of columns of B and C pass.
//
// Against panels of a block of C that stays (panel_plan.h), partial sums travel too, but both ways at once, and no link
// waits for a block to leave: what counts is the larger of what goes up and what goes down. Lines of all pieces are
// long where A, B and C are stored by columns.
#pragma once

#include "core/api.h"
#include "modules/shared/dense/panel_plan.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace quadrille {

struct StripPlan {
  ProductShape shape;
  std::int64_t rows = 0, depth = 0;  ///< most of a block of A
  std::int64_t columns = 0;          ///< most of a strip

  /// Strips of B, and of C, that are held: one is worked on, others come and go.
  static constexpr int buffers = 3;

  std::int64_t row_blocks() const { return (shape.m + rows - 1) / rows; }
  std::int64_t depth_blocks() const { return (shape.k + depth - 1) / depth; }
  std::int64_t strips() const { return (shape.n + columns - 1) / columns; }
  std::int64_t steps() const { return row_blocks() * depth_blocks() * strips(); }
  /// Numbers that are held, that go up and that go down. C is read as it was where `read_c`.
  std::int64_t held() const { return rows * depth + buffers * columns * (rows + depth); }
  double up(bool read_c) const {
    const double m = double(shape.m), n = double(shape.n), k = double(shape.k);
    return m * k + double(row_blocks()) * k * n + double(depth_blocks() - (read_c ? 0 : 1)) * m * n;
  }
  double down() const { return double(depth_blocks()) * double(shape.m) * double(shape.n); }
  double longest_way(bool read_c) const { return std::max(up(read_c), down()); }
};

/// The plan with the shortest longest_way() that holds at most so many numbers; nothing for empty shapes and where
/// memory does not hold strips of 32 columns.
QUADRILLE_API std::optional<StripPlan> plan_strips(const ProductShape& shape, std::int64_t numbers, bool read_c);

}  // namespace quadrille
