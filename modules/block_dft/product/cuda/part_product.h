// Products in parts: the blocks of C at some rows and columns at a time, so that what a product needs beside A, B and C
// fits the device's memory, and so that A can come and C go while others are multiplied. Every block of C has the bits
// that a product in one part gives it: it is summed up over all of k in one part.
#pragma once

#include "modules/block_dft/product/cuda/memory_budget.h"
#include "modules/block_dft/product/cuda/symbolic.h"

#include <functional>
#include <optional>
#include <vector>

namespace quadrille::block_dft {

/// alpha op(A) op(B) + beta C for multiply(): what does not depend on where the matrices are.
struct ProductForm {
  double alpha;
  Transpose op_a, op_b;
  double beta;
  BlockSizes rows, inner, columns;  ///< of op(A), op(B)
  Symmetry symmetry;                ///< of C
  MultiplyOptions options;

  bool filters() const { return options.eps > 0; }
  bool mixes() const { return options.mixed && filters(); }
  /// Whether C's old blocks count.
  bool keeps() const { return options.retain_sparsity || beta != 0; }
};

/// Throws as multiply() for options and for the device.
void require_supported(const MultiplyOptions& options);

/// Checks the arguments. M has rows() and columns(). Errors: those of multiply().
template <class M>
ProductForm product_form(double alpha, Transpose op_a, const M& a, Transpose op_b, const M& b, double beta, const M& c,
                         const MultiplyOptions& options) {
  const bool turn_a = op_a == Transpose::yes, turn_b = op_b == Transpose::yes;
  const BlockSizes& rows = turn_a ? a.columns() : a.rows();
  const BlockSizes& inner = turn_a ? a.rows() : a.columns();
  const BlockSizes& columns = turn_b ? b.rows() : b.columns();
  require_same(inner, turn_b ? b.columns() : b.rows(), "columns of op(A) and rows of op(B)");
  require_same(rows, c.rows(), "rows of op(A) and rows of C");
  require_same(columns, c.columns(), "columns of op(B) and columns of C");
  require_supported(options);
  return {alpha, op_a, op_b, beta, rows, inner, columns, c.symmetry(), options};
}

/// Columns of op(B), packed.
struct ColumnPart {
  BlockRange range;
  Pieces pieces;
  PackedFactor packed;
};

/// A part of C, and what its product did.
struct ProductPart {
  DeviceMatrix c;
  MultiplyReport report;
  std::int64_t bytes;  ///< of the device's memory that it needed, C included
};

class PartedProduct {
 public:
  explicit PartedProduct(const ProductForm& form);

  ColumnPart columns_of(const DeviceMatrix::Data& b, BlockRange columns) const;
  /// The blocks of C, filtered, in these rows and in the columns of `b`; of A those rows must be there. `old` is C
  /// before, where it counts. `whole_b` is what `b` is all of: then whole matrices may be multiplied where that is
  /// faster. Done when it returns. Errors: NotEnoughMemory.
  ProductPart part(const DeviceMatrix::Data& a, BlockRange rows, const ColumnPart& b, const DeviceMatrix::Data* old,
                   const DeviceMatrix::Data* whole_b, MemoryBudget budget) const;

  const ProductForm& form() const { return form_; }

 private:
  struct Left;
  Left rows_of(const DeviceMatrix::Data& a, BlockRange rows) const;
  void multiply_pieces(const Tasks& tasks, const Left& left, const ColumnPart& b, const DeviceMatrix::Data* old,
                       DeviceMatrix::Data& c) const;
  /// Without the filter.
  void fill(const DeviceMatrix::Data& a, BlockRange rows, const ColumnPart& b, const DeviceMatrix::Data* old,
            const DeviceMatrix::Data* whole_b, MemoryBudget& budget, ProductPart& out) const;

  ProductForm form_;
  std::int32_t most_;  ///< rows and columns of a piece of C
  Pieces inner_;
  PanelShape shape_;
};

/// Adds what a part did to the report of all.
void add_part(const MultiplyReport& part, MultiplyReport& all);

using TakePart = std::function<void(DeviceMatrix)>;

/// Rows of C in as few parts as fit: what the last part took says how many rows the next one may have.
class RowParts {
 public:
  /// `guessed_bytes`: what one part of all rows and columns may need.
  RowParts(const PartedProduct& product, double guessed_bytes);
  /// take(part) for one after the other, down the rows; otherwise as PartedProduct::part. Errors: NotEnoughMemory where
  /// one row of blocks is too much.
  void run(const DeviceMatrix::Data& a, BlockRange rows, const ColumnPart& columns, const DeviceMatrix::Data* old,
           const DeviceMatrix::Data* whole_b, MultiplyReport& report, const TakePart& take);

 private:
  MemoryBudget budget(const ColumnPart& columns) const;

  const PartedProduct& product_;
  double bytes_of_row_;  ///< of all columns
};

/// The product of matrices in the device's memory: take(part) columns by columns, rows by rows, in as few parts as fit.
/// Errors: NotEnoughMemory where one row or column of blocks is too much.
MultiplyReport for_each_part(const ProductForm& form, const DeviceMatrix::Data& a, const DeviceMatrix::Data& b,
                             const DeviceMatrix::Data& old, const TakePart& take);

/// One matrix of parts that have different blocks: each row's columns ascend from a part to the next. The parts' memory
/// is given back.
DeviceMatrix joined(std::vector<DeviceMatrix> parts);

}  // namespace quadrille::block_dft
