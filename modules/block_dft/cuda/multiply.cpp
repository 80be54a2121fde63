// multiply_on_device(): pack A and B, find the tasks and C's places, multiply, filter.
#include "core/error.h"
#include "modules/block_dft/block_algebra.h"
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

}  // namespace

MultiplyReport multiply_on_device(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                  const DeviceMatrix& b, double beta, DeviceMatrix& c, const MultiplyOptions& options) {
  const double began = now();
  const Shapes shapes = shapes_of(op_a, a, op_b, b);
  require_arguments(shapes, c, options);
  require_hopper();
  const std::int32_t most = unit_for(shapes.rows, shapes.columns);
  const Pieces rows = pieces_of(shapes.rows, most, Cut::evenly), columns = pieces_of(shapes.columns, most, Cut::evenly);
  const Pieces inner = most > 32 ? pieces_of(shapes.inner, 24, Cut::rest_last)  // lines of 24 meet no bank twice
                                 : pieces_of(shapes.inner, 32, Cut::evenly);
  const PanelShape shape = panel_shape(most, tiles_of(rows, columns));
  const bool filters = options.eps > 0;
  DeviceArray<double> a_norms, b_norms, limits;
  if (filters) {
    a_norms = norms_on_device(a.data().view());
    b_norms = norms_on_device(b.data().view());
  }
  const PackedFactor left = pack({a.data(), op_a == Transpose::yes, rows, inner, shape.rows, a_norms.get()});
  const PackedFactor right = pack({b.data(), op_b == Transpose::no, columns, inner, shape.columns, b_norms.get()});
  if (filters) limits = row_limits(left.outer_blocks, options.eps, alpha);

  const bool keep = options.retain_sparsity || beta != 0;
  DeviceMatrix sum;
  sum.data().rows = shapes.rows;
  sum.data().columns = shapes.columns;
  sum.data().symmetry = c.symmetry();
  const Tasks tasks = find_tasks({left, right, rows, inner, columns, shape, c.symmetry() != Symmetry::none, filters,
                                  limits.get(), keep ? &c.data() : nullptr, options.retain_sparsity},
                                 sum.data());
  cuda_backend().synchronize();
  MultiplyReport report;
  report.index_seconds = now() - began;
  multiply_panels({most, tasks, left, right, rows, inner, columns, alpha, beta,
                   beta != 0 ? c.data().numbers_there.get() : nullptr, sum.data().numbers_there.get()});
  if (c.symmetry() != Symmetry::none) symmetrise_on_device(sum.data());
  cuda_backend().synchronize();
  report.product_seconds = now() - began - report.index_seconds;
  report.products = tasks.sums.products;
  report.skipped = tasks.sums.skipped;
  report.flops = tasks.sums.flops;
  report.skipped_bound = std::abs(alpha) * std::sqrt(tasks.sums.skipped_squares);
  if (!options.retain_sparsity && filters) {
    const DeviceFiltered filtered = filter_on_device(sum.data(), options.eps);
    report.filtered_blocks = filtered.blocks;
    report.filtered_norm = filtered.norm;
  }
  report.bound = report.skipped_bound + report.filtered_norm;
  c = std::move(sum);
  cuda_backend().synchronize();
  report.seconds = now() - began;
  return report;
}

}  // namespace quadrille::block_dft
