// How a matrix product C += A B is cut into panels that pass through a limited memory: a pure function of the sizes.
//
// A block of C stays while the panels of A and B that it needs pass by. With M numbers of memory, square matrices then
// move about 2 n^3 / sqrt(M) numbers of A and B and each of C once, which no order of the n^3 products can do better
// than by a constant factor (Hong and Kung, STOC 1981, doi:10.1145/800076.802486). Panels may also be as long as k:
// then those of A (or B) stay and C passes, which moves less when k is small.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <optional>

namespace quadrille {

/// C is m x n, A is m x k, B is k x n.
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// What the panels may take, and what one number and one panel cost.
struct PanelMemory {
  std::int64_t cap = 0;                             ///< bytes of all panels together; 0: no limit
  int a_bytes = 8, b_bytes = 8, c_bytes = 8;        ///< of one staged number; c_bytes = 0: C is not staged
  int ab_buffers = 1, c_buffers = 1;                ///< 2: one is filled while the other is worked on
  std::int64_t min_k = 1;                           ///< shortest panel along k, where k is not shorter
  std::int64_t max_k = std::int64_t(1) << 30;       ///< longest
  std::int64_t max_extent = std::int64_t(1) << 30;  ///< most rows and columns of a block of C
};

/// One product of panels: C(row.., column..) += A(row.., depth..) B(depth.., column..).
struct PanelStep {
  std::int64_t row = 0, rows = 0, column = 0, columns = 0, depth = 0, depths = 0;
  bool load_a = false, load_b = false;    ///< the panel is not the one of the step before
  bool begins_c = false, ends_c = false;  ///< the first and the last product of its block of C
};

/// The blocks in the order they are worked on. Every block of C is met in consecutive steps; the orders of blocks and
/// panels run to and fro, so that a panel at a turn is loaded once.
class QUADRILLE_API PanelPlan {
 public:
  /// Panels of at most rows x columns (C) and depth (k); the block rows are the outer loop or the block columns.
  PanelPlan(const ProductShape& shape, std::int64_t rows, std::int64_t columns, std::int64_t depth, bool rows_outer);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t depth() const { return depth_; }
  /// 0 when C is empty; k = 0 counts as one panel of no depth, so that beta reaches C.
  std::int64_t steps() const { return row_blocks_ * column_blocks_ * depth_blocks_; }
  /// Step `number` of [0, steps()).
  PanelStep step(std::int64_t number) const;
  /// Bytes of the largest panels together.
  std::int64_t bytes(const PanelMemory& memory) const;
  /// Bytes that pass into the panels and out of them; `read_c`: C is read as well as written (beta != 0). Panels count
  /// with their mean size.
  double traffic(const PanelMemory& memory, bool read_c) const;

 private:
  struct Place {
    std::int64_t row, column, depth;
  };
  Place place(std::int64_t number) const;

  ProductShape shape_;
  std::int64_t rows_, columns_, depth_;
  std::int64_t row_blocks_, column_blocks_, depth_blocks_;
  bool rows_outer_;
};

/// The plan that moves least among those within `memory`. Panels along k are kept as long as sqrt(M) / 16 or 256 where
/// k allows, so that the products are efficient. Errors: ErrorCode::invalid_input when not even 1 x 1 panels fit.
QUADRILLE_API PanelPlan plan_panels(const ProductShape& shape, const PanelMemory& memory, bool read_c = true);
/// The same, or nothing when no panels fit.
QUADRILLE_API std::optional<PanelPlan> find_panels(const ProductShape& shape, const PanelMemory& memory, bool read_c);

}  // namespace quadrille
