#include "modules/block_dft/product/cuda/part_product.h"

#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/product/cuda/dense_product.h"
#include "modules/block_dft/product/cuda/panels/panel_kernel.h"
#include "modules/block_dft/product/cuda/panels/panel_shape.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

void require_hopper() {
  int device = 0, major = 0, minor = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major >= 9) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("block-sparse products on a GPU need compute capability 9.0, this one has {}.{}: use "
                          "--backend cpu",
                          major, minor));
}

/// Norms of blocks, where there is a filter.
DeviceArray<double> norms_for(const ProductForm& form, const DeviceMatrix::Data& matrix) {
  return form.filters() ? norms_on_device(matrix.view()) : DeviceArray<double>();
}

bool is_all(BlockRange range, const BlockSizes& sizes) { return range.count() == sizes.count(); }

}  // namespace

void require_supported(const MultiplyOptions& options) {
  if (!(options.eps >= 0) || std::isinf(options.eps)) {
    throw Error(ErrorCode::invalid_input, fmt::format("eps = {}: it must be 0 or above, and finite", options.eps));
  }
  require_hopper();
}

void MemoryBudget::take(std::int64_t bytes) {
  taken_ += bytes;
  if (double(taken_) <= bytes_) return;
  throw NotEnoughMemory(
      fmt::format("a part of a block-sparse product needs at least {} bytes of the GPU's memory, of which it may have "
                  "{:.0f}: smaller blocks, or a larger eps, would need less",
                  taken_, bytes_));
}

/// Rows of op(A), packed, and by rows: what is skipped, if there is a filter; what is in single precision, if there are
/// products in it.
struct PartedProduct::Left {
  Pieces pieces;
  PackedFactor packed;
  DeviceArray<double> skip_below;
  SingleLimits single;
};

PartedProduct::PartedProduct(const ProductForm& form)
    : form_(form),
      most_(unit_for(form.rows, form.columns)),
      inner_(pieces_of(form.inner, most_inner)),
      shape_(panel_shape(
          most_, tiles_of(pieces_of(form.rows, BlockRange{}, most_), pieces_of(form.columns, BlockRange{}, most_)))) {}

ColumnPart PartedProduct::columns_of(const DeviceMatrix::Data& b, BlockRange columns) const {
  ColumnPart out{columns, pieces_of(form_.columns, columns, most_), {}};
  const DeviceArray<double> norms = norms_for(form_, b);
  out.packed = pack({b, form_.op_b == Transpose::no, out.pieces, inner_, shape_.columns, norms.get(), form_.mixes()});
  return out;
}

PartedProduct::Left PartedProduct::rows_of(const DeviceMatrix::Data& a, BlockRange rows) const {
  Left out{pieces_of(form_.rows, rows, most_), {}, {}, {}};
  const DeviceArray<double> norms = norms_for(form_, a);
  out.packed = pack({a, form_.op_a == Transpose::yes, out.pieces, inner_, shape_.rows, norms.get(), form_.mixes()});
  if (form_.filters()) out.skip_below = row_limits(out.packed.outer_blocks, form_.options.eps, form_.alpha);
  if (form_.mixes()) out.single = single_limits(out.packed.outer_elements, out.skip_below);
  return out;
}

void PartedProduct::multiply_pieces(const Tasks& tasks, const Left& left, const ColumnPart& b,
                                    const DeviceMatrix::Data* old, DeviceMatrix::Data& c) const {
  PanelProblem problem{most_,
                       tasks,
                       left.packed,
                       b.packed,
                       left.pieces,
                       inner_,
                       b.pieces,
                       form_.alpha,
                       form_.beta,
                       form_.beta != 0 ? old->numbers_there.get() : nullptr,
                       c.numbers_there.get()};
  problem.variant = tuned_variant(problem);
  multiply_full(problem);
  add_single(problem);
}

void PartedProduct::fill(const DeviceMatrix::Data& a, BlockRange rows, const ColumnPart& b,
                         const DeviceMatrix::Data* old, const DeviceMatrix::Data* whole_b, MemoryBudget& budget,
                         ProductPart& out) const {
  const double began = now();
  const Left left = rows_of(a, rows);
  budget.take(left.packed.bytes());
  MultiplyReport& report = out.report;
  DeviceMatrix::Data& c = out.c.data();
  const Tasks tasks = find_tasks({left.packed,
                                  b.packed,
                                  left.pieces,
                                  inner_,
                                  b.pieces,
                                  shape_,
                                  form_.symmetry != Symmetry::none,
                                  form_.filters(),
                                  form_.mixes(),
                                  {left.skip_below.get(), left.single.below.get(), left.single.rounding.get()},
                                  form_.keeps() ? old : nullptr,
                                  form_.options.retain_sparsity},
                                 budget, c);
  cuda_backend().synchronize();
  report.index_seconds = now() - began;
  if (whole_b != nullptr && is_all(rows, form_.rows) && form_.options.driver == Driver::automatic) {
    const DenseProblem dense{form_.alpha, form_.op_a, a, form_.op_b, *whole_b, form_.beta, *old, c};
    report.dense =
        dense_is_faster(dense, tasks.sums.flops - tasks.sums.single_flops / 2, most_, tiles_of(left.pieces, b.pieces));
    if (report.dense) multiply_dense(dense);
  }
  if (!report.dense) multiply_pieces(tasks, left, b, old, c);
  if (form_.symmetry != Symmetry::none) symmetrise_on_device(c);
  cuda_backend().synchronize();
  report.product_seconds = now() - began - report.index_seconds;
  set_work(report, tasks.sums, form_.alpha);
  report.device_flops = report.flops;
}

ProductPart PartedProduct::part(const DeviceMatrix::Data& a, BlockRange rows, const ColumnPart& b,
                                const DeviceMatrix::Data* old, const DeviceMatrix::Data* whole_b,
                                MemoryBudget budget) const {
  ProductPart out{};
  DeviceMatrix::Data& c = out.c.data();
  c.rows = form_.rows;
  c.columns = form_.columns;
  c.symmetry = form_.symmetry;
  const std::int64_t before = budget.taken();
  fill(a, rows, b, old, whole_b, budget, out);
  out.bytes = budget.taken() - before;
  if (form_.filters() && !form_.options.retain_sparsity) {
    set_filtered(out.report, filter(out.c, form_.options.eps));
  }
  return out;
}

void add_part(const MultiplyReport& part, MultiplyReport& all) {
  all += part;
  ++all.parts;
  all.products += part.products;
  all.skipped += part.skipped;
  all.single_products += part.single_products;
  all.filtered_blocks += part.filtered_blocks;
  all.dense = part.dense;
  // Of different blocks of C.
  all.skipped_bound = std::hypot(all.skipped_bound, part.skipped_bound);
  all.rounding_bound = std::hypot(all.rounding_bound, part.rounding_bound);
  all.filtered_norm = std::hypot(all.filtered_norm, part.filtered_norm);
  set_bound(all);
}

namespace {

/// Bytes that a part of all rows and columns may need: blocks of C have several products each, how many is not known
/// before they are found.
double guessed_need(const ProductForm& form, const DeviceMatrix::Data& a, const DeviceMatrix::Data& b) {
  constexpr double products_of_block = 8, products_of_step = 4;
  const auto both_halves = [](const DeviceMatrix::Data& m) { return m.symmetry == Symmetry::none ? 1.0 : 2.0; };
  const double rows = form.rows.count(), columns = form.columns.count();
  const double mean = double(form.rows.total()) * double(form.columns.total()) / std::max(1.0, rows * columns);
  const double products =
      both_halves(a) * double(a.blocks) * both_halves(b) * double(b.blocks) / std::max(1, form.inner.count());
  const double half = form.symmetry == Symmetry::none ? 1 : 0.5;
  const double blocks = half * std::min(rows * columns, products / products_of_block);
  return sizeof(double) * both_halves(a) * double(a.numbers) + half * products / products_of_step * sizeof(Step) +
         blocks * mean * sizeof(double) * (form.filters() ? 2 : 1);
}

/// What parts may take of the device's memory.
double memory_of_parts(const MultiplyOptions& options) {
  constexpr double share = 0.9;  // the rest is for sorting, and for holes
  return options.panel_bytes > 0 ? options.panel_bytes : share * double(cuda::available_bytes());
}

/// Packs columns of B from `begin` on, as many as take no more than half of the memory.
class ColumnsOfParts {
 public:
  ColumnsOfParts(const PartedProduct& product, const DeviceMatrix::Data& b)
      : product_(product), b_(b), count_(product.form().columns.count()) {
    const double mirrored = b.symmetry == Symmetry::none ? 1 : 2, formats = product.form().mixes() ? 1.5 : 1;
    const double parts = std::ceil(mirrored * formats * sizeof(double) * double(b.numbers) / most());
    many_ = std::int32_t(std::max(1.0, std::ceil(count_ / std::max(1.0, parts))));
  }
  ColumnPart pack(std::int32_t begin) {
    for (;; many_ = (many_ + 1) / 2) {
      const BlockRange range{begin, std::min(count_, begin + many_)};
      const double bytes = most();
      try {
        ColumnPart out = product_.columns_of(b_, range);
        if (double(out.packed.bytes()) <= bytes || many_ == 1) return out;
      } catch (const NotEnoughMemory&) {
        if (many_ == 1) throw;
      }
    }
  }

 private:
  double most() const { return memory_of_parts(product_.form().options) / 2; }

  const PartedProduct& product_;
  const DeviceMatrix::Data& b_;
  std::int32_t count_, many_;
};

}  // namespace

RowParts::RowParts(const PartedProduct& product, double guessed_bytes)
    : product_(product), bytes_of_row_(guessed_bytes / std::max(1, product.form().rows.count())) {}

MemoryBudget RowParts::budget(const ColumnPart& columns) const {
  const MultiplyOptions& options = product_.form().options;
  MemoryBudget out(memory_of_parts(options));
  if (options.panel_bytes > 0) out.take(columns.packed.bytes());  // of what is free they are no part any more
  return out;
}

void RowParts::run(const DeviceMatrix::Data& a, BlockRange rows, const ColumnPart& columns,
                   const DeviceMatrix::Data* old, const DeviceMatrix::Data* whole_b, MultiplyReport& report,
                   const TakePart& take) {
  constexpr double careful = 0.8;  // rows differ
  const double share = double(columns.range.count()) / std::max(1, product_.form().columns.count());
  bool halved = false;
  for (std::int32_t begin = rows.begin, many = 0; begin < std::max(rows.begin + 1, rows.end);) {
    const MemoryBudget left = budget(columns);
    const double fit = (left.bytes() - double(left.taken())) / std::max(1.0, share * bytes_of_row_);
    many = halved ? std::max(1, many / 2) : std::int32_t(std::clamp(fit, 1.0, double(std::max(1, rows.count()))));
    const BlockRange range{begin, std::min(rows.end, begin + many)};
    many = range.count();
    std::optional<ProductPart> part;
    try {
      part = product_.part(a, range, columns, old, whole_b, left);
    } catch (const NotEnoughMemory&) {
      if (many <= 1) throw;
    }
    halved = !part.has_value();
    if (halved) continue;
    bytes_of_row_ = std::max(1.0, double(part->bytes)) / std::max(1, many) / share / careful;
    add_part(part->report, report);
    take(std::move(part->c));
    begin = std::max(begin + 1, range.end);
  }
}

MultiplyReport for_each_part(const ProductForm& form, const DeviceMatrix::Data& a, const DeviceMatrix::Data& b,
                             const DeviceMatrix::Data& old, const TakePart& take) {
  const PartedProduct product(form);
  ColumnsOfParts columns(product, b);
  RowParts rows(product, guessed_need(form, a, b));
  MultiplyReport report;
  for (std::int32_t begin = 0; begin < std::max(1, form.columns.count());) {
    const double began = now();
    const ColumnPart packed = columns.pack(begin);
    report.index_seconds += now() - began;
    rows.run(a, {0, form.rows.count()}, packed, &old, is_all(packed.range, form.columns) ? &b : nullptr, report, take);
    begin = std::max(begin + 1, packed.range.end);
  }
  return report;
}

}  // namespace quadrille::block_dft
