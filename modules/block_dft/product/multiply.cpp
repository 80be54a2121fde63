#include "modules/block_dft/product/multiply.h"

#include "core/error.h"
#include "core/system/team.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/every_rank.h"
#include "modules/block_dft/product/csr_level.h"
#include "modules/block_dft/product/ranks/cannon.h"
#include "modules/mgemm/product/blas.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <thread>
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
void set_filter(ProductFilter& filter, std::vector<double> a_norms, std::vector<double> b_norms, double alpha,
                const MultiplyOptions& options) {
  const BlockPattern& a = filter.a;
  filter.a_norms = std::move(a_norms);
  filter.b_norms = std::move(b_norms);
  filter.skip_below.resize(std::size_t(a.rows().count()));
  for (std::int32_t i = 0; i < a.rows().count() && alpha != 0; ++i) {
    const std::int64_t blocks = std::max<std::int64_t>(1, a.end(i) - a.begin(i));
    filter.skip_below[std::size_t(i)] = options.eps / (std::abs(alpha) * double(blocks));
  }
}

/// Sums of n products of numbers with unit roundoff u differ by at most n u / (1 - n u) of the sum of magnitudes
/// (Higham, Accuracy and Stability, 3.1); two more are for rounding A and B. And | |A| |B| | <= |A| |B| in Frobenius
/// norms.
void set_single(ProductFilter& filter) {
  constexpr double unit = 0x1p-24;
  const BlockPattern& a = filter.a;
  filter.single_below.resize(filter.skip_below.size());
  filter.rounding.resize(filter.skip_below.size());
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    double length = 2;
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) length += a.columns().size(a.column(slot));
    if (length * unit >= 0.5) continue;
    const double rounding = length * unit / (1 - length * unit);
    filter.rounding[std::size_t(i)] = rounding;
    filter.single_below[std::size_t(i)] = filter.skip_below[std::size_t(i)] / rounding;
  }
}

/// The same for panels of the factors: what is left out, and what is single, is decided by whole rows of A.
template <class T>
ProductFilter filter_of_panels(const ProductFilter& whole, const BlockMatrix<T>& a, const BlockMatrix<T>& b) {
  ProductFilter out{a, b, whole.upper};
  if (!whole.filters()) return out;
  out.a_norms = block_norms(a);
  out.b_norms = block_norms(b);
  out.skip_below = whole.skip_below;
  out.single_below = whole.single_below;
  out.rounding = whole.rounding;
  return out;
}

template <class T>
FilteredProduct<T> filtered_product(const BlockMatrix<T>& a, const BlockMatrix<T>& b, const ProductFilter& filter) {
  FilteredProduct<T> product{a, b, filter};
  if constexpr (std::is_same_v<T, double>) {
    if (filter.mixes()) {
      product.a_single = to_single(a);
      product.b_single = to_single(b);
    }
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
          product.filter.upper};
}

/// sum = what it begins with and all products at its places, whose numbers need not be set: threads share parts of C.
/// This one calls push() between its parts.
template <class T>
void add_products(const FilteredProduct<T>& product, const Beginning<T>& beginning, double flops, BlockMatrix<T>& sum,
                  const MultiplyOptions& options, const std::function<void()>& push = {}) {
  constexpr double most_parts = 128, least_parts = 8, flops_of_a_part = 1e6, least_elements = 64 * 64;
  const ProductShape shape = shape_of(product, sum);
  const double wanted = std::clamp(flops / flops_of_a_part, least_parts, most_parts);
  const std::vector<Cuboid> parts = cut_result(shape, std::int64_t(wanted), least_elements);
  const mgemm::OneBlasThread one;
  const std::thread::id caller = std::this_thread::get_id();
  team_for_with(
      std::int64_t(parts.size()), [&] { return CsrLevel<T>(product, beginning, sum, options.driver); },
      [&](CsrLevel<T>& level, std::int64_t n) {
        multrec(shape, parts[std::size_t(n)], options.cache_bytes, [&](const Cuboid& part) { level.multiply(part); });
        if (push && std::this_thread::get_id() == caller) push();
      });
}

/// Whether the product of whole matrices takes less time. What a product of blocks costs beside its multiply-adds, and
/// an element that is copied, are as many flops of a dense product as the measurements of MEASUREMENTS.md say.
template <class T>
bool dense_is_cheaper(const FilteredProduct<T>& product, const ProductPattern& pattern, const BlockMatrix<T>& sum) {
  constexpr double flops_of_a_product = 600, flops_of_an_element = 40, most_memory = 8;
  const double m = double(sum.rows().total()), n = double(sum.columns().total());
  const double k = double(product.a.columns().total());
  const double copied = m * k + k * n;
  const double stored = double(product.a.stored() + product.b.stored() + sum.stored());
  if (copied > most_memory * stored) return false;
  const double sparse = pattern.sums.flops + flops_of_a_product * double(pattern.sums.products);
  return (product.filter.upper ? 1 : 2) * m * n * k + flops_of_an_element * (copied + m * n) < sparse;
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
  std::optional<Cannon<T>> cannon;
  if (c.grid()) cannon.emplace(*left, *right, options.panel_bytes);
  const BlockPattern& a_places = cannon ? cannon->a().places : static_cast<const BlockPattern&>(*left);
  const BlockPattern& b_places = cannon ? cannon->b().places : static_cast<const BlockPattern&>(*right);
  ProductFilter which{a_places, b_places, c.symmetry() != Symmetry::none};
  ProductPattern pattern;
  BlockMatrix<T> sum = on_every_rank(c.grid(), [&] {
    if (options.eps > 0) {
      set_filter(which, cannon ? cannon->a().norms : block_norms(*left),
                 cannon ? cannon->b().norms : block_norms(*right), double(alpha), options);
      if (options.mixed && std::is_same_v<T, double>) set_single(which);
    }
    const bool keep = options.retain_sparsity || beta != T(0);
    pattern = find_pattern(which, keep ? &c : nullptr, options.retain_sparsity);
    return BlockMatrix<T>::with_unset_pattern(c.rows(), c.columns(), c.symmetry(), std::move(pattern.first),
                                              std::move(pattern.column));
  });
  MultiplyReport report;
  report.index_seconds = now() - began;
  const bool begun = alpha == T(1) && beta != T(0);
  Beginning<T> beginning{true, beta, begun ? &c : nullptr};
  if (cannon) {
    report.exchange_seconds = cannon->for_each_step([&](const auto& a_panel, const auto& b_panel, const auto& push) {
      const ProductFilter part = filter_of_panels(which, a_panel, b_panel);
      add_products(filtered_product(a_panel, b_panel, part), beginning, pattern.sums.flops / cannon->steps(), sum,
                   options, push);
      beginning.sets = false;
    });
  } else {
    const FilteredProduct<T> product = filtered_product(*left, *right, which);
    report.dense = options.driver == Driver::automatic && dense_is_cheaper(product, pattern, sum);
    if (report.dense) {
      add_dense_products(product, beginning, sum);
    } else {
      add_products(product, beginning, pattern.sums.flops, sum, options);
    }
  }
  report.product_seconds = now() - began - report.index_seconds - report.exchange_seconds;
  finish(alpha, sum, beta, c, begun);
  set_work(report, sum_over_ranks(c.grid(), pattern.sums), double(alpha));
  if (!options.retain_sparsity && options.eps > 0) set_filtered(report, filter(sum, options.eps));
  set_bound(report);
  c = std::move(sum);
  report.seconds = now() - began;
  return report;
}

template <class T>
double norm_of_product(T alpha, Transpose op_a, const BlockMatrix<T>& a, Transpose op_b, const BlockMatrix<T>& b,
                       T beta, const BlockMatrix<T>& c, const MultiplyOptions& options) {
  BlockMatrix<T> sum = copied(c);
  multiply(alpha, op_a, a, op_b, b, beta, sum, options);
  return frobenius_norm(sum);
}

template MultiplyReport multiply(double, Transpose, const BlockMatrix<double>&, Transpose, const BlockMatrix<double>&,
                                 double, BlockMatrix<double>&, const MultiplyOptions&);
template MultiplyReport multiply(float, Transpose, const BlockMatrix<float>&, Transpose, const BlockMatrix<float>&,
                                 float, BlockMatrix<float>&, const MultiplyOptions&);

template double norm_of_product(double, Transpose, const BlockMatrix<double>&, Transpose, const BlockMatrix<double>&,
                                double, const BlockMatrix<double>&, const MultiplyOptions&);

}  // namespace quadrille::block_dft
