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
#include <type_traits>

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

/// Sets what products have norms below.
template <class T>
void set_filter(FilteredProduct<T>& product, double alpha, const MultiplyOptions& options) {
  const BlockMatrix<T>& a = product.a;
  product.a_norms = block_norms(a);
  product.b_norms = block_norms(product.b);
  product.skip_below.resize(std::size_t(a.rows().count()));
  for (std::int32_t i = 0; i < a.rows().count() && alpha != 0; ++i) {
    const std::int64_t blocks = std::max<std::int64_t>(1, a.end(i) - a.begin(i));
    product.skip_below[std::size_t(i)] = options.eps / (std::abs(alpha) * double(blocks));
  }
}

/// Sums of n products of numbers with unit roundoff u differ by at most n u / (1 - n u) of the sum of magnitudes
/// (Higham, Accuracy and Stability, 3.1); two more are for rounding A and B. And | |A| |B| | <= |A| |B| in Frobenius
/// norms.
void set_single(FilteredProduct<double>& product) {
  constexpr double unit = 0x1p-24;
  const BlockMatrix<double>& a = product.a;
  product.single_below.resize(product.skip_below.size());
  product.rounding.resize(product.skip_below.size());
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    double length = 2;
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) length += a.columns().size(a.column(slot));
    if (length * unit >= 0.5) continue;
    const double rounding = length * unit / (1 - length * unit);
    product.rounding[std::size_t(i)] = rounding;
    product.single_below[std::size_t(i)] = product.skip_below[std::size_t(i)] / rounding;
  }
  product.a_single = to_single(a);
  product.b_single = to_single(product.b);
}

template <class T>
FilteredProduct<T> filtered_product(const BlockMatrix<T>& a, const BlockMatrix<T>& b, double alpha, bool upper,
                                    const MultiplyOptions& options) {
  FilteredProduct<T> product{a, b, upper};
  if (options.eps > 0) set_filter(product, alpha, options);
  if constexpr (std::is_same_v<T, double>) {
    if (options.eps > 0 && options.mixed) set_single(product);
  }
  return product;
}

double element_bytes(double number_bytes, std::int64_t stored, const BlockSizes& rows, const BlockSizes& columns) {
  return number_bytes * double(stored) / std::max(1.0, double(rows.total()) * double(columns.total()));
}

template <class T>
ProductShape shape_of(const FilteredProduct<T>& product, const BlockMatrix<T>& sum) {
  const auto& a = product.a;
  const auto& b = product.b;
  return {a.rows(),
          a.columns(),
          b.columns(),
          element_bytes(sizeof(T), a.stored(), a.rows(), a.columns()),
          element_bytes(sizeof(T), b.stored(), b.rows(), b.columns()),
          element_bytes(sizeof(T), sum.stored(), sum.rows(), sum.columns()),
          product.upper};
}

/// sum = what it begins with and all products at its places, whose numbers need not be set: threads share parts of C.
template <class T>
void add_products(const FilteredProduct<T>& product, const Beginning<T>& beginning, double flops, BlockMatrix<T>& sum,
                  const MultiplyOptions& options) {
  constexpr double most_parts = 128, least_parts = 8, flops_of_a_part = 1e6, least_elements = 64 * 64;
  const ProductShape shape = shape_of(product, sum);
  const double wanted = std::clamp(flops / flops_of_a_part, least_parts, most_parts);
  const std::vector<Cuboid> parts = cut_result(shape, std::int64_t(wanted), least_elements);
  const mgemm::OneBlasThread one;
  team_for_with(
      std::int64_t(parts.size()), [&] { return CsrLevel<T>(product, beginning, sum, options.driver); },
      [&](CsrLevel<T>& level, std::int64_t n) {
        multrec(shape, parts[std::size_t(n)], options.cache_bytes, [&](const Cuboid& part) { level.multiply(part); });
      });
}

/// Whether the product of whole matrices takes less time. What a product of blocks costs beside its multiply-adds, and
/// an element that is copied, are as many flops of a dense product as the measurements of README.md say.
template <class T>
bool dense_is_cheaper(const FilteredProduct<T>& product, const ProductPattern& pattern, const BlockMatrix<T>& sum) {
  constexpr double flops_of_a_product = 600, flops_of_an_element = 40, most_memory = 8;
  const double m = double(sum.rows().total()), n = double(sum.columns().total());
  const double k = double(product.a.columns().total());
  const double copied = m * k + k * n;
  const double stored = double(product.a.stored() + product.b.stored() + sum.stored());
  if (copied > most_memory * stored) return false;
  const double sparse = pattern.flops + flops_of_a_product * double(pattern.products);
  return (product.upper ? 1 : 2) * m * n * k + flops_of_an_element * (copied + m * n) < sparse;
}

/// The same as add_products.
template <class T>
void add_dense_products(const FilteredProduct<T>& product, const Beginning<T>& beginning, BlockMatrix<T>& sum) {
  constexpr std::int64_t most_parts = 128;
  constexpr double least_elements = 256 * 256;
  const std::vector<Cuboid> parts = cut_result(shape_of(product, sum), most_parts, least_elements);
  const std::vector<T> a = product.a.to_dense(), b = product.b.to_dense();
  const BlockSizes &rows = sum.rows(), &columns = sum.columns();
  const std::int64_t inner = product.a.columns().total();
  const mgemm::OneBlasThread one;
  team_for_with(
      std::int64_t(parts.size()), [] { return std::vector<T>(); },
      [&](std::vector<T>& c, std::int64_t part) {
        const auto& [i0, i1, k0, k1, j0, j1] = parts[std::size_t(part)];
        const std::int64_t m = rows.offset(i1) - rows.offset(i0), n = columns.offset(j1) - columns.offset(j0);
        c.resize(std::size_t(m * n));
        // C by columns is C^T by rows: C^T = B^T A^T.
        mgemm::dense_product(T(1), DenseView<const T>{b.data() + columns.offset(j0), n, inner, columns.total(), false},
                             DenseView<const T>{a.data() + rows.offset(i0) * inner, inner, m, inner, false}, T(0),
                             DenseView<T>{c.data(), n, m, n, false});
        for (std::int32_t i = i0; i < i1; ++i) {
          std::int64_t old = beginning.c != nullptr ? beginning.c->lower_slot(i, j0) : 0;
          for (std::int64_t slot = sum.lower_slot(i, j0); slot < sum.lower_slot(i, j1); ++slot) {
            const std::int32_t j = sum.column(slot), width = columns.size(j);
            T* block = sum.block(slot);
            beginning.set(i, j, std::int64_t(rows.size(i)) * width, block, old);
            const T* from = c.data() + (rows.offset(i) - rows.offset(i0)) * n + columns.offset(j) - columns.offset(j0);
            for (std::int32_t p = 0; p < rows.size(i); ++p, from += n, block += width) {
              for (std::int32_t q = 0; q < width; ++q) block[q] += from[q];
            }
          }
        }
      });
}

/// sum = alpha sum + beta c, whose places sum has; `begun`: beta c is in the sum.
template <class T>
void finish(T alpha, BlockMatrix<T>& sum, T beta, const BlockMatrix<T>& c, bool begun) {
  if (sum.symmetry() != Symmetry::none) {
    for (std::int32_t i = 0; i < sum.rows().count(); ++i) {
      const std::int64_t slot = sum.find(i, i);
      if (slot >= 0) symmetrise_block(sum.block(slot), sum.rows().size(i), T(mirror_sign(sum.symmetry())));
    }
  }
  if (beta != T(0) && !begun) {
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
      filtered_product(*left, *right, double(alpha), c.symmetry() != Symmetry::none, options);
  const bool keep = options.retain_sparsity || beta != T(0);
  ProductPattern pattern = find_pattern(product, keep ? &c : nullptr, options.retain_sparsity);
  BlockMatrix<T> sum = BlockMatrix<T>::with_unset_pattern(c.rows(), c.columns(), c.symmetry(), std::move(pattern.first),
                                                          std::move(pattern.column));
  MultiplyReport report;
  report.index_seconds = now() - began;
  const bool begun = alpha == T(1) && beta != T(0);
  const Beginning<T> beginning{beta, begun ? &c : nullptr};
  report.dense = options.driver == Driver::automatic && dense_is_cheaper(product, pattern, sum);
  if (report.dense) {
    add_dense_products(product, beginning, sum);
  } else {
    add_products(product, beginning, pattern.flops, sum, options);
  }
  report.product_seconds = now() - began - report.index_seconds;
  finish(alpha, sum, beta, c, begun);
  report.products = pattern.products;
  report.skipped = pattern.skipped;
  report.flops = pattern.flops;
  report.skipped_bound = std::abs(double(alpha)) * pattern.skipped_bound;
  if (!report.dense) {
    report.single_products = pattern.single_products;
    report.single_flops = pattern.single_flops;
    report.rounding_bound = std::abs(double(alpha)) * pattern.rounding_bound;
  }
  if (!options.retain_sparsity && options.eps > 0) {
    const Filtered filtered = filter(sum, options.eps);
    report.filtered_blocks = filtered.blocks;
    report.filtered_norm = filtered.norm;
  }
  report.bound = report.skipped_bound + report.rounding_bound + report.filtered_norm;
  c = std::move(sum);
  report.seconds = now() - began;
  return report;
}

template MultiplyReport multiply(double, Transpose, const BlockMatrix<double>&, Transpose, const BlockMatrix<double>&,
                                 double, BlockMatrix<double>&, const MultiplyOptions&);
template MultiplyReport multiply(float, Transpose, const BlockMatrix<float>&, Transpose, const BlockMatrix<float>&,
                                 float, BlockMatrix<float>&, const MultiplyOptions&);

}  // namespace quadrille::block_dft
