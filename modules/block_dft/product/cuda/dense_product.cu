#include "modules/block_dft/product/cuda/dense_product.h"

#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/shared/dense/cuda/cublas.h"

#include <cmath>

namespace quadrille::block_dft {
namespace {

/// Where rows and columns of blocks begin, in elements.
struct Offsets {
  const std::int64_t *row, *column;
};

struct DeviceOffsets {
  DeviceArray<std::int64_t> row, column;

  explicit DeviceOffsets(const DeviceMatrix::Data& matrix)
      : row(offsets_on_device(matrix.rows)), column(offsets_on_device(matrix.columns)) {}
  Offsets view() const { return {row.get(), column.get()}; }
};

/// A warp takes a block and writes it, and its mirror image, into a row-major matrix with lines of `ld`.
__global__ void spread_blocks(MatrixView matrix, Offsets offsets, bool turned, double mirror_sign, double* dense,
                              std::int64_t ld) {
  const std::int64_t slot = warp_number();
  if (slot >= matrix.blocks) return;
  const std::int32_t i = row_of(matrix, slot), j = matrix.column[slot];
  const std::int64_t row = offsets.row[i], column = offsets.column[j], width = offsets.column[j + 1] - column;
  for (std::int64_t e = lane_number(); e < matrix.at[slot + 1] - matrix.at[slot]; e += 32) {
    const double value = matrix.data[matrix.at[slot] + e];
    const std::int64_t p = row + e / width, q = column + e % width;
    dense[turned ? q * ld + p : p * ld + q] = value;
    if (mirror_sign != 0 && i != j) dense[turned ? p * ld + q : q * ld + p] = mirror_sign * value;
  }
}

/// A warp takes a block of C.
__global__ void gather_blocks(MatrixView c, Offsets offsets, const double* dense, std::int64_t ld, double alpha,
                              double beta, MatrixView old, double* data) {
  const std::int64_t slot = warp_number();
  if (slot >= c.blocks) return;
  const std::int32_t i = row_of(c, slot), j = c.column[slot];
  const std::int64_t row = offsets.row[i], column = offsets.column[j], width = offsets.column[j + 1] - column;
  const std::int64_t old_slot = beta != 0 ? find_slot(old, i, j) : -1;
  for (std::int64_t e = lane_number(); e < c.at[slot + 1] - c.at[slot]; e += 32) {
    double value = alpha * dense[(row + e / width) * ld + column + e % width];
    if (old_slot >= 0) value += beta * old.data[old.at[old_slot] + e];
    data[c.at[slot] + e] = value;
  }
}

}  // namespace

DeviceArray<double> spread(Transpose op, const DeviceMatrix::Data& matrix) {
  const std::int64_t count = matrix.rows.total() * matrix.columns.total();
  auto dense = device_array<double>(count);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(dense.get(), 0, std::size_t(count) * sizeof(double), cuda::stream()));
  const bool turned = op == Transpose::yes;
  const DeviceOffsets offsets(matrix);
  launch_warps(matrix.blocks, spread_blocks, matrix.view(), offsets.view(), turned,
               matrix.symmetry == Symmetry::none ? 0.0 : double(mirror_sign(matrix.symmetry)), dense.get(),
               turned ? matrix.rows.total() : matrix.columns.total());
  return dense;
}

void gather(const DenseSource& from, DeviceMatrix::Data& c) {
  const DeviceOffsets offsets(c);
  launch_warps(c.blocks, gather_blocks, c.view(), offsets.view(), from.dense, from.ld, from.alpha, from.beta,
               from.old != nullptr ? from.old->view() : MatrixView{}, c.numbers_there.get());
}

namespace {

std::int64_t inner_of(const DenseProblem& p) {
  return p.op_a == Transpose::yes ? p.a.rows.total() : p.a.columns.total();
}

/// Flops a second of products whose tiles are full.
double speed(std::int32_t most, int tiles) {
  if (most > 32) return most == 48 ? 29e12 : 32e12;
  constexpr double speeds[] = {8e12, 22e12, 26e12, 30e12};
  return speeds[tiles - 1];
}

/// How much of its tiles a block of mean size fills.
double filling(const BlockSizes& sizes, std::int32_t extent) {
  const double mean = double(sizes.total()) / std::max(1, sizes.count());
  return mean / (std::ceil(mean / extent) * extent);
}

}  // namespace

bool dense_is_faster(const DenseProblem& p, double flops, std::int32_t most, int tiles) {
  constexpr double dense_speed = 55e12, bytes_a_second = 1.5e12, least_flops = 1e10;
  const double m = double(p.c.rows.total()), n = double(p.c.columns.total()), k = double(inner_of(p));
  const double elements = m * k + k * n + m * n;
  if (flops < least_flops || sizeof(double) * elements > 0.8 * double(cuda::available_bytes())) return false;
  const std::int32_t extent = most > 32 ? most : 8 * tiles;
  const double of_blocks = speed(most, tiles) * filling(p.c.rows, extent) * filling(p.c.columns, extent);
  return 2 * m * n * k / dense_speed + 2 * sizeof(double) * elements / bytes_a_second < flops / of_blocks;
}

void multiply_dense(const DenseProblem& p) {
  const std::int64_t m = p.c.rows.total(), n = p.c.columns.total(), k = inner_of(p);
  const DeviceArray<double> a = spread(p.op_a, p.a), b = spread(p.op_b, p.b);
  const auto product = device_array<double>(m * n);
  const double one = 1, zero = 0;
  // C by columns is C^T by rows: C^T = B^T A^T.
  QUADRILLE_CUBLAS_CHECK(cublasDgemm_64(cuda::cublas(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.get(), n, a.get(), k,
                                        &zero, product.get(), n));
  gather({product.get(), n, p.alpha, p.beta, &p.old}, p.c);
}

}  // namespace quadrille::block_dft
