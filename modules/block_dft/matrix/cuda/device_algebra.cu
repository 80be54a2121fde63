#include "modules/block_dft/matrix/cuda/device_matrix.h"

#include "core/backend/cuda/owned.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/matrix/every_rank.h"

#include <cub/device/device_scan.cuh>

#include <cmath>
#include <cstring>

namespace quadrille::block_dft {
namespace {

__global__ void copy_bytes(const std::byte* from, int count, std::byte* to) {
  if (thread_number() < count) to[thread_number()] = from[thread_number()];
}

/// A warp takes a block; its lanes are added in a fixed order.
__global__ void find_norms(MatrixView matrix, double* norms) {
  const std::int64_t slot = warp_number();
  if (slot >= matrix.blocks) return;
  double squares = 0;
  for (std::int64_t k = matrix.at[slot] + lane_number(); k < matrix.at[slot + 1]; k += 32) {
    squares += matrix.data[k] * matrix.data[k];
  }
  squares = warp_sum(squares);
  if (lane_number() == 0) norms[slot] = sqrt(squares);
}

/// A warp takes a row of blocks.
__global__ void symmetrise_diagonal(MatrixView matrix, double* data, double sign) {
  const std::int64_t i = warp_number();
  if (i >= matrix.rows) return;
  const std::int64_t slot = find_slot(matrix, std::int32_t(i), std::int32_t(i));
  if (slot < 0) return;
  double* block = data + matrix.at[slot];
  const int n = int(sqrt(double(matrix.at[slot + 1] - matrix.at[slot])) + 0.5);
  for (int p = 0; p < n; ++p) {
    for (int q = lane_number(); q <= p; q += 32) {
      const double mean = (block[std::int64_t(p) * n + q] + sign * block[std::int64_t(q) * n + p]) / 2;
      block[std::int64_t(p) * n + q] = mean;
      block[std::int64_t(q) * n + p] = sign * mean;
    }
  }
}

/// What a block that goes weighs in the norm of all that go.
__global__ void mark_small(MatrixView matrix, const double* norms, double eps, bool mirrored, std::int64_t* stays,
                           std::int64_t* numbers, double* squares) {
  const std::int64_t slot = thread_number();
  if (slot >= matrix.blocks) return;
  const bool small = norms[slot] < eps;
  stays[slot] = small ? 0 : 1;
  numbers[slot] = small ? 0 : matrix.at[slot + 1] - matrix.at[slot];
  const double weight = mirrored && row_of(matrix, slot) != matrix.column[slot] ? 2 : 1;
  squares[slot] = small ? weight * norms[slot] * norms[slot] : 0;
}

__global__ void keep_rows(MatrixView matrix, const std::int64_t* slots, std::int64_t* first) {
  const std::int64_t i = thread_number();
  if (i <= matrix.rows) first[i] = slots[matrix.first[i]];
}

__global__ void keep_blocks(MatrixView matrix, const std::int64_t* slots, const std::int64_t* numbers,
                            std::int32_t* column, std::int64_t* at, double* data) {
  const std::int64_t slot = warp_number();
  if (slot >= matrix.blocks || slots[slot] == slots[slot + 1]) return;
  const std::int64_t to = numbers[slot], from = matrix.at[slot], count = matrix.at[slot + 1] - from;
  if (lane_number() == 0) {
    column[slots[slot]] = matrix.column[slot];
    at[slots[slot]] = to;
  }
  for (std::int64_t k = lane_number(); k < count; k += 32) data[to + k] = matrix.data[from + k];
}

DeviceArray<std::int64_t> counts_of(std::int64_t count) {
  auto out = device_array<std::int64_t>(count + 1);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(out.get() + count, 0, sizeof(std::int64_t), cuda::stream()));
  return out;
}

/// eps / (|alpha| blocks) of each row; nothing is skipped for alpha = 0.
__global__ void find_limits(std::int32_t rows, const std::int32_t* blocks, double eps, double alpha, double* limits) {
  const std::int64_t i = thread_number();
  if (i < rows) limits[i] = alpha == 0 ? 0 : eps / (fabs(alpha) * double(max(1, blocks[i])));
}

/// Rounding to single and then to TF32 changes A and B by 2^-11 and 2^-24 of themselves, and their products by twice
/// that. Sums in the tensor cores keep at least 23 bits of the largest term and are cut off, so each term adds at most
/// 2^-22 of the sum of magnitudes. The factor is for products of these.
__global__ void find_single_limits(std::int64_t rows, const std::int32_t* elements, const double* skip_below,
                                   double* below, double* rounding) {
  constexpr double of_factors = 0x1p-10 + 0x1p-23, of_a_term = 0x1p-22, of_products = 1 + 0x1p-7, most = 0.1;
  const std::int64_t i = thread_number();
  if (i >= rows) return;
  const double share = (of_factors + of_a_term * (elements[i] + 2)) * of_products;
  rounding[i] = share;
  below[i] = share < most ? skip_below[i] / share : 0;
}

}  // namespace

void read_bytes(const void* there, void* here, int count) {
  constexpr std::size_t most = 256;
  thread_local const cuda::PinnedMemory seen_by_both =
      cuda::make_pinned(most, cudaHostAllocPortable | cudaHostAllocMapped, "sums of a GPU on their way to the host");
  launch_each(count, copy_bytes, static_cast<const std::byte*>(there), count, seen_by_both.get());
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
  std::memcpy(here, seen_by_both.get(), std::size_t(count));
}

DeviceArray<std::int64_t> zeroed(std::int64_t count) {
  auto out = device_array<std::int64_t>(count);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(out.get(), 0, std::size_t(count) * sizeof(std::int64_t), cuda::stream()));
  return out;
}

void sum_before(DeviceArray<std::int64_t>& counts) {
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(memory, bytes, counts.get(), counts.get(), counts.count(), cuda::stream());
  });
}

DeviceArray<double> norms_on_device(const MatrixView& matrix) {
  auto norms = device_array<double>(matrix.blocks);
  launch_warps(matrix.blocks, find_norms, matrix, norms.get());
  return norms;
}

DeviceArray<double> row_limits(const DeviceArray<std::int32_t>& blocks, double eps, double alpha) {
  auto limits = device_array<double>(blocks.count());
  launch_each(blocks.count(), find_limits, std::int32_t(blocks.count()), blocks.get(), eps, alpha, limits.get());
  return limits;
}

SingleLimits single_limits(const DeviceArray<std::int32_t>& elements, const DeviceArray<double>& skip_below) {
  const std::int64_t rows = elements.count();
  SingleLimits out{device_array<double>(rows), device_array<double>(rows)};
  launch_each(rows, find_single_limits, rows, static_cast<const std::int32_t*>(elements.get()),
              static_cast<const double*>(skip_below.get()), out.below.get(), out.rounding.get());
  return out;
}

void symmetrise_on_device(DeviceMatrix::Data& matrix) {
  launch_warps(matrix.rows.count(), symmetrise_diagonal, matrix.view(), matrix.numbers_there.get(),
               double(mirror_sign(matrix.symmetry)));
}

std::int64_t keep_marked(DeviceMatrix::Data& matrix, DeviceArray<std::int64_t>& stays,
                         DeviceArray<std::int64_t>& numbers) {
  const std::int64_t blocks = matrix.blocks;
  sum_before(stays);
  sum_before(numbers);
  const std::int64_t left = last_of(stays);
  if (left == blocks) return 0;
  const std::int64_t numbers_left = last_of(numbers);
  auto first = device_array<std::int64_t>(matrix.rows.count() + 1);
  auto column = device_array<std::int32_t>(left);
  auto at = device_array<std::int64_t>(left + 1);
  auto data = device_array<double>(numbers_left);
  launch_each(matrix.rows.count() + 1, keep_rows, matrix.view(), stays.get(), first.get());
  launch_warps(blocks, keep_blocks, matrix.view(), stays.get(), numbers.get(), column.get(), at.get(), data.get());
  QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(at.get() + left, numbers.get() + blocks, sizeof(std::int64_t),
                                       cudaMemcpyDeviceToDevice, cuda::stream()));
  matrix.first = std::move(first);
  matrix.column = std::move(column);
  matrix.at = std::move(at);
  matrix.numbers_there = std::move(data);
  matrix.blocks = left;
  matrix.numbers = numbers_left;
  return blocks - left;
}

namespace {

/// Of this rank.
Filtered filter_here(DeviceMatrix::Data& matrix, double eps) {
  Filtered out;
  const std::int64_t blocks = matrix.blocks;
  if (blocks == 0) return out;
  const DeviceArray<double> norms = norms_on_device(matrix.view());
  DeviceArray<std::int64_t> slots = counts_of(blocks), numbers = counts_of(blocks);
  const auto squares = device_array<double>(blocks);
  launch_each(blocks, mark_small, matrix.view(), norms.get(), eps, matrix.symmetry != Symmetry::none, slots.get(),
              numbers.get(), squares.get());
  out.norm = std::sqrt(sum_of(squares));
  out.blocks = keep_marked(matrix, slots, numbers);
  return out;
}

}  // namespace

Filtered filter(DeviceMatrix& a, double eps) {
  const Filtered out = on_every_rank(a.rows().grid(), [&] { return filter_here(a.data(), eps); });
  if (!a.rows().grid()) return out;
  double sums[] = {out.norm * out.norm, double(out.blocks)};
  sum_over_ranks(a.rows().grid(), sums, 2);
  return {std::sqrt(sums[0]), std::int64_t(sums[1])};
}

}  // namespace quadrille::block_dft
