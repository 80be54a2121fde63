// multiply_on_device(): pack A and B, find the tasks and C's places, multiply, filter.
#include "core/error.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/cuda/dense_product.h"
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
  if (options.mixed) {
    throw Error(ErrorCode::unsupported, "products on a GPU are in double precision: mixed precision needs the CPU");
  }
}

/// A and B as the kernels read them.
struct Prepared {
  std::int32_t most;  ///< rows and columns of a piece of C
  Pieces rows, inner, columns;
  PanelShape shape;
  PackedFactor left, right;
  DeviceArray<double> limits;  ///< below what norms a product is skipped, by rows; if there is a filter
};

Prepared prepare(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b, const DeviceMatrix& b,
                 const Shapes& shapes, double eps) {
  Prepared out;
  out.most = unit_for(shapes.rows, shapes.columns);
  out.rows = pieces_of(shapes.rows, out.most, Cut::evenly);
  out.columns = pieces_of(shapes.columns, out.most, Cut::evenly);
  out.inner = out.most > 32 ? pieces_of(shapes.inner, 24, Cut::rest_last)  // lines of 24 meet no bank twice
                            : pieces_of(shapes.inner, 32, Cut::evenly);
  out.shape = panel_shape(out.most, tiles_of(out.rows, out.columns));
  DeviceArray<double> a_norms, b_norms;
  if (eps > 0) {
    a_norms = norms_on_device(a.data().view());
    b_norms = norms_on_device(b.data().view());
  }
  out.left = pack({a.data(), op_a == Transpose::yes, out.rows, out.inner, out.shape.rows, a_norms.get()});
  out.right = pack({b.data(), op_b == Transpose::no, out.columns, out.inner, out.shape.columns, b_norms.get()});
  if (eps > 0) out.limits = row_limits(out.left.outer_blocks, eps, alpha);
  return out;
}

}  // namespace

MultiplyReport multiply_on_device(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                  const DeviceMatrix& b, double beta, DeviceMatrix& c, const MultiplyOptions& options) {
  const double began = now();
  const Shapes shapes = shapes_of(op_a, a, op_b, b);
  require_arguments(shapes, c, options);
  require_hopper();
  const Prepared p = prepare(alpha, op_a, a, op_b, b, shapes, options.eps);
  const bool keep = options.retain_sparsity || beta != 0, symmetric = c.symmetry() != Symmetry::none;
  DeviceMatrix result;
  DeviceMatrix::Data& sum = result.data();
  sum.rows = shapes.rows;
  sum.columns = shapes.columns;
  sum.symmetry = c.symmetry();
  const Tasks tasks = find_tasks({p.left, p.right, p.rows, p.inner, p.columns, p.shape, symmetric, options.eps > 0,
                                  p.limits.get(), keep ? &c.data() : nullptr, options.retain_sparsity},
                                 sum);
  cuda_backend().synchronize();
  MultiplyReport report;
  report.index_seconds = now() - began;
  const DenseProblem dense{alpha, op_a, a.data(), op_b, b.data(), beta, c.data(), sum};
  report.dense = options.driver == Driver::automatic &&
                 dense_is_faster(dense, tasks.sums.flops, p.most, tiles_of(p.rows, p.columns));
  if (report.dense) {
    multiply_dense(dense);
  } else {
    multiply_panels({p.most, tasks, p.left, p.right, p.rows, p.inner, p.columns, alpha, beta,
                     beta != 0 ? c.data().numbers_there.get() : nullptr, sum.numbers_there.get()});
  }
  if (symmetric) symmetrise_on_device(sum);
  cuda_backend().synchronize();
  report.product_seconds = now() - began - report.index_seconds;
  report.products = tasks.sums.products;
  report.skipped = tasks.sums.skipped;
  report.flops = tasks.sums.flops;
  report.skipped_bound = std::abs(alpha) * std::sqrt(tasks.sums.skipped_squares);
  if (!options.retain_sparsity && options.eps > 0) {
    const DeviceFiltered filtered = filter_on_device(sum, options.eps);
    report.filtered_blocks = filtered.blocks;
    report.filtered_norm = filtered.norm;
  }
  report.bound = report.skipped_bound + report.filtered_norm;
  c = std::move(result);
  cuda_backend().synchronize();
  report.seconds = now() - began;
  return report;
}

}  // namespace quadrille::block_dft
