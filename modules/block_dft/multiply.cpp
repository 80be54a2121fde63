#include "modules/block_dft/multiply.h"

#include "core/error.h"
#include "core/system/team.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/csr_level.h"
#include "modules/mgemm/blas.h"
#include "modules/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace quadrille::block_dft {
namespace {

/// op(A) with every block stored; A itself where it is that already.
template <class T>
class Operand {
 public:
  Operand(Transpose op, const BlockMatrix<T>& a) {
    if (op == Transpose::no && a.symmetry() == Symmetry::none) {
      matrix_ = &a;
      return;
    }
    made_ = without_symmetry(a);
    if (op == Transpose::yes) made_ = transposed(*made_);
    matrix_ = &*made_;
  }
  const BlockMatrix<T>& operator*() const { return *matrix_; }

 private:
  std::optional<BlockMatrix<T>> made_;
  const BlockMatrix<T>* matrix_ = nullptr;
};

template <class T>
void require_shapes(const BlockMatrix<T>& a, const BlockMatrix<T>& b, const BlockMatrix<T>& c, double eps) {
  require_same(a.columns(), b.rows(), "columns of op(A) and rows of op(B)");
  require_same(a.rows(), c.rows(), "rows of op(A) and rows of C");
  require_same(b.columns(), c.columns(), "columns of op(B) and columns of C");
  if (!(eps >= 0) || std::isinf(eps)) {
    throw Error(ErrorCode::invalid_input, fmt::format("eps = {}: it must be 0 or above, and finite", eps));
  }
}

template <class T>
FilteredProduct<T> filtered_product(const BlockMatrix<T>& a, const BlockMatrix<T>& b, double alpha, bool upper,
                                    double eps) {
  FilteredProduct<T> product{
      a, b, block_norms(a), block_norms(b), std::vector<double>(std::size_t(a.rows().count())), upper};
  for (std::int32_t i = 0; i < a.rows().count() && alpha != 0; ++i) {
    const std::int64_t blocks = std::max<std::int64_t>(1, a.end(i) - a.begin(i));
    product.skip_below[std::size_t(i)] = eps / (std::abs(alpha) * double(blocks));
  }
  return product;
}

double element_bytes(double number_bytes, std::int64_t stored, const BlockSizes& rows, const BlockSizes& columns) {
  return number_bytes * double(stored) / std::max(1.0, double(rows.total()) * double(columns.total()));
}

/// Adds all products to `sum`, which has their places: threads share parts of C.
template <class T>
void add_products(const FilteredProduct<T>& product, BlockMatrix<T>& sum, const MultiplyOptions& options) {
  const auto& a = product.a;
  const auto& b = product.b;
  const ProductShape shape{a.rows(),
                           a.columns(),
                           b.columns(),
                           element_bytes(sizeof(T), a.stored(), a.rows(), a.columns()),
                           element_bytes(sizeof(T), b.stored(), b.rows(), b.columns()),
                           element_bytes(sizeof(T), sum.stored(), sum.rows(), sum.columns()),
                           product.upper};
  constexpr std::int64_t most_parts = 128;
  constexpr double least_elements = 64 * 64;
  const std::vector<Cuboid> parts = cut_result(shape, most_parts, least_elements);
  const mgemm::OneBlasThread one;
  team_for_with(
      std::int64_t(parts.size()), [&] { return CsrLevel<T>(product, sum, options.driver); },
      [&](CsrLevel<T>& level, std::int64_t n) {
        multrec(shape, parts[std::size_t(n)], options.cache_bytes, [&](const Cuboid& part) { level.multiply(part); });
      });
}

/// sum = alpha sum + beta c, whose places sum has.
template <class T>
void finish(T alpha, BlockMatrix<T>& sum, T beta, const BlockMatrix<T>& c) {
  if (sum.symmetry() != Symmetry::none) {
    for (std::int32_t i = 0; i < sum.rows().count(); ++i) {
      const std::int64_t slot = sum.find(i, i);
      if (slot >= 0) symmetrise_block(sum.block(slot), sum.rows().size(i), T(mirror_sign(sum.symmetry())));
    }
  }
  if (beta != T(0)) {
    add(alpha, sum, beta, c);
  } else if (alpha != T(1)) {
    scale(sum, alpha);
  }
}

}  // namespace

template <class T>
MultiplyReport multiply(T alpha, Transpose op_a, const BlockMatrix<T>& a, Transpose op_b, const BlockMatrix<T>& b,
                        T beta, BlockMatrix<T>& c, const MultiplyOptions& options) {
  const double began = now();
  const Operand<T> left(op_a, a), right(op_b, b);
  require_shapes(*left, *right, c, options.eps);
  const FilteredProduct<T> product =
      filtered_product(*left, *right, double(alpha), c.symmetry() != Symmetry::none, options.eps);
  const bool keep = options.retain_sparsity || beta != T(0);
  ProductPattern pattern = find_pattern(product, keep ? &c : nullptr, options.retain_sparsity);
  BlockMatrix<T> sum = BlockMatrix<T>::with_pattern(c.rows(), c.columns(), c.symmetry(), std::move(pattern.first),
                                                    std::move(pattern.column));
  MultiplyReport report;
  report.index_seconds = now() - began;
  add_products(product, sum, options);
  report.product_seconds = now() - began - report.index_seconds;
  finish(alpha, sum, beta, c);
  report.products = pattern.products;
  report.skipped = pattern.skipped;
  report.flops = pattern.flops;
  report.skipped_bound = std::abs(double(alpha)) * pattern.skipped_bound;
  if (!options.retain_sparsity && options.eps > 0) {
    const Filtered filtered = filter(sum, options.eps);
    report.filtered_blocks = filtered.blocks;
    report.filtered_norm = filtered.norm;
  }
  report.bound = report.skipped_bound + report.filtered_norm;
  c = std::move(sum);
  report.seconds = now() - began;
  return report;
}

template MultiplyReport multiply(double, Transpose, const BlockMatrix<double>&, Transpose, const BlockMatrix<double>&,
                                 double, BlockMatrix<double>&, const MultiplyOptions&);
template MultiplyReport multiply(float, Transpose, const BlockMatrix<float>&, Transpose, const BlockMatrix<float>&,
                                 float, BlockMatrix<float>&, const MultiplyOptions&);

}  // namespace quadrille::block_dft
