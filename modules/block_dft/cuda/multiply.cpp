// multiply(): pack A and B, find the tasks and C's places, multiply, filter.
#include "core/error.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/cuda/dense_product.h"
#include "modules/block_dft/cuda/multiply_on_ranks.h"
#include "modules/block_dft/cuda/panel_kernel.h"
#include "modules/block_dft/cuda/panel_shape.h"
#include "modules/take_turns.h"

#include <fmt/format.h>

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

struct Shapes {
  const BlockSizes &rows, &inner, &inner_of_b, &columns;
};

Shapes shapes_of(Transpose op_a, const DeviceMatrix& a, Transpose op_b, const DeviceMatrix& b) {
  const bool turn_a = op_a == Transpose::yes, turn_b = op_b == Transpose::yes;
  return {turn_a ? a.columns() : a.rows(), turn_a ? a.rows() : a.columns(), turn_b ? b.columns() : b.rows(),
          turn_b ? b.rows() : b.columns()};
}

void require_arguments(const Shapes& shapes, const DeviceMatrix& c, const MultiplyOptions& options) {
  require_same(shapes.inner, shapes.inner_of_b, "columns of op(A) and rows of op(B)");
  require_same(shapes.rows, c.rows(), "rows of op(A) and rows of C");
  require_same(shapes.columns, c.columns(), "columns of op(B) and columns of C");
  if (!(options.eps >= 0) || std::isinf(options.eps)) {
    throw Error(ErrorCode::invalid_input, fmt::format("eps = {}: it must be 0 or above, and finite", options.eps));
  }
}

/// Never by whole matrices.
const MultiplyOptions by_blocks{.driver = Driver::own};

/// A and B as the kernels read them.
struct Prepared {
  std::int32_t most;  ///< rows and columns of a piece of C
  Pieces rows, inner, columns;
  PanelShape shape;
  PackedFactor left, right;
  // By rows: what is skipped, if there is a filter; what is in single precision, if there are products in it.
  DeviceArray<double> skip_below;
  SingleLimits single;
};

Prepared prepare(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b, const DeviceMatrix& b,
                 const Shapes& shapes, const MultiplyOptions& options) {
  const double eps = options.eps;
  const bool mixes = options.mixed && eps > 0;
  Prepared out;
  out.most = unit_for(shapes.rows, shapes.columns);
  out.rows = pieces_of(shapes.rows, out.most, Cut::evenly);
  out.columns = pieces_of(shapes.columns, out.most, Cut::evenly);
  out.inner = inner_pieces(shapes.inner, all_blocks(shapes.inner), out.most);
  out.shape = panel_shape(out.most, tiles_of(out.rows, out.columns));
  DeviceArray<double> a_norms, b_norms;
  if (eps > 0) {
    a_norms = norms_on_device(a.data().view());
    b_norms = norms_on_device(b.data().view());
  }
  out.left = pack({a.data(), op_a == Transpose::yes, out.rows, out.inner, out.shape.rows, a_norms.get(), mixes});
  out.right = pack({b.data(), op_b == Transpose::no, out.columns, out.inner, out.shape.columns, b_norms.get(), mixes});
  if (eps > 0) out.skip_below = row_limits(out.left.outer_blocks, eps, alpha);
  if (mixes) out.single = single_limits(out.left.outer_elements, out.skip_below);
  return out;
}

}  // namespace

MultiplyReport multiply(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b, const DeviceMatrix& b,
                        double beta, DeviceMatrix& c, const MultiplyOptions& options) {
  const double began = now();
  const Shapes shapes = shapes_of(op_a, a, op_b, b);
  require_arguments(shapes, c, options);
  require_hopper();
  if (c.rows().grid()) return multiply_on_ranks(alpha, op_a, a, op_b, b, beta, c, options);
  const Prepared p = prepare(alpha, op_a, a, op_b, b, shapes, options);
  const bool mixes = options.mixed && options.eps > 0;
  const bool keep = options.retain_sparsity || beta != 0, symmetric = c.symmetry() != Symmetry::none;
  DeviceMatrix result;
  DeviceMatrix::Data& sum = result.data();
  sum.rows = shapes.rows;
  sum.columns = shapes.columns;
  sum.symmetry = c.symmetry();
  const Tasks tasks = find_tasks({p.left,
                                  p.right,
                                  p.rows,
                                  p.inner,
                                  p.columns,
                                  p.shape,
                                  symmetric,
                                  options.eps > 0,
                                  mixes,
                                  {p.skip_below.get(), p.single.below.get(), p.single.rounding.get()},
                                  keep ? &c.data() : nullptr,
                                  options.retain_sparsity},
                                 sum);
  cuda_backend().synchronize();
  MultiplyReport report;
  report.index_seconds = now() - began;
  const DenseProblem dense{alpha, op_a, a.data(), op_b, b.data(), beta, c.data(), sum};
  report.dense =
      options.driver == Driver::automatic &&
      dense_is_faster(dense, tasks.sums.flops - tasks.sums.single_flops / 2, p.most, tiles_of(p.rows, p.columns));
  if (report.dense) {
    multiply_dense(dense);
  } else {
    PanelProblem problem{p.most,
                         tasks,
                         p.left,
                         p.right,
                         p.rows,
                         p.inner,
                         p.columns,
                         alpha,
                         beta,
                         beta != 0 ? c.data().numbers_there.get() : nullptr,
                         sum.numbers_there.get()};
    problem.variant = tuned_variant(problem);
    multiply_full(problem);
    add_single(problem);
    report.single_products = tasks.sums.single_products;
    report.single_flops = tasks.sums.single_flops;
    report.rounding_bound = std::abs(alpha) * std::sqrt(tasks.sums.rounding_squares);
  }
  if (symmetric) symmetrise_on_device(sum);
  cuda_backend().synchronize();
  report.product_seconds = now() - began - report.index_seconds;
  report.products = tasks.sums.products;
  report.skipped = tasks.sums.skipped;
  report.flops = tasks.sums.flops;
  report.skipped_bound = std::abs(alpha) * std::sqrt(tasks.sums.skipped_squares);
  if (!options.retain_sparsity && options.eps > 0) {
    const Filtered filtered = filter(result, options.eps);
    report.filtered_blocks = filtered.blocks;
    report.filtered_norm = filtered.norm;
  }
  report.bound = report.skipped_bound + report.rounding_bound + report.filtered_norm;
  c = std::move(result);
  cuda_backend().synchronize();
  report.seconds = now() - began;
  return report;
}

// Products with the identity are exact, and write matrices in other forms. On a grid blocks change their ranks, by way
// of the hosts.

DeviceMatrix transposed(const DeviceMatrix& a) {
  if (a.symmetry() == Symmetry::symmetric) return a;
  if (a.rows().grid()) return DeviceMatrix(transposed(a.fetch()));
  DeviceMatrix out(a.columns(), a.rows(), a.symmetry());
  const DeviceMatrix one(identity<double>(a.rows()));
  multiply(1, Transpose::yes, a, Transpose::no, one, 0, out, by_blocks);
  return out;
}

DeviceMatrix without_symmetry(const DeviceMatrix& a) {
  if (a.symmetry() == Symmetry::none) return a;
  if (a.rows().grid()) return DeviceMatrix(without_symmetry(a.fetch()));
  DeviceMatrix out(a.rows(), a.columns());
  const DeviceMatrix one(identity<double>(a.columns()));
  multiply(1, Transpose::no, a, Transpose::no, one, 0, out, by_blocks);
  return out;
}

DeviceMatrix with_symmetry(const DeviceMatrix& a, Symmetry symmetry) {
  if (a.symmetry() == symmetry) return a;
  if (symmetry == Symmetry::none) return without_symmetry(a);
  if (a.rows().grid()) return DeviceMatrix(with_symmetry(a.fetch(), symmetry));
  DeviceMatrix out(a.rows(), a.columns(), symmetry);
  const DeviceMatrix one(identity<double>(a.rows()));
  multiply(0.5, Transpose::no, a, Transpose::no, one, 0, out, by_blocks);
  multiply(0.5 * mirror_sign(symmetry), Transpose::yes, a, Transpose::no, one, 1, out, by_blocks);
  return out;
}

}  // namespace quadrille::block_dft
