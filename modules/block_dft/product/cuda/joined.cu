// Parts of a matrix become one.
#include "core/error.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/product/cuda/part_product.h"

#include <limits>

namespace quadrille::block_dft {
namespace {

/// next[i] += the blocks that the part has in row i.
__global__ void count_rows(MatrixView part, std::int64_t* next) {
  const std::int64_t i = thread_number();
  if (i < part.rows) next[i] += part.first[i + 1] - part.first[i];
}

__global__ void place_blocks(MatrixView part, const std::int64_t* next, std::int32_t* column, std::int64_t* numbers) {
  const std::int64_t slot = thread_number();
  if (slot >= part.blocks) return;
  const std::int32_t i = row_of(part, slot);
  const std::int64_t to = next[i] + slot - part.first[i];
  column[to] = part.column[slot];
  numbers[to] = part.at[slot + 1] - part.at[slot];
}

/// A warp takes a block.
__global__ void copy_blocks(MatrixView part, const std::int64_t* next, const std::int64_t* at, double* data) {
  const std::int64_t slot = warp_number();
  if (slot >= part.blocks) return;
  const std::int32_t i = row_of(part, slot);
  const std::int64_t from = part.at[slot], to = at[next[i] + slot - part.first[i]];
  for (std::int64_t k = lane_number(); k < part.at[slot + 1] - from; k += 32) data[to + k] = part.data[from + k];
}

DeviceArray<std::int64_t> copy_of(const DeviceArray<std::int64_t>& from) {
  auto out = device_array<std::int64_t>(from.count());
  QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(out.get(), from.get(), std::size_t(from.count()) * sizeof(std::int64_t),
                                       cudaMemcpyDeviceToDevice, cuda::stream()));
  return out;
}

}  // namespace

DeviceMatrix joined(std::vector<DeviceMatrix> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  DeviceMatrix out;
  DeviceMatrix::Data& all = out.data();
  all.rows = parts.front().rows();
  all.columns = parts.front().columns();
  all.symmetry = parts.front().symmetry();
  all.first = zeroed(all.rows.count() + 1);
  for (const DeviceMatrix& part : parts) {
    launch_each(all.rows.count(), count_rows, part.data().view(), all.first.get());
    all.blocks += part.block_count();
    all.numbers += part.stored();
  }
  if (all.blocks > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::unsupported, "a GPU takes matrices of up to 2^31 - 1 blocks");
  }
  sum_before(all.first);
  all.column = device_array<std::int32_t>(all.blocks);
  all.at = zeroed(all.blocks + 1);
  DeviceArray<std::int64_t> next = copy_of(all.first);
  for (const DeviceMatrix& part : parts) {
    const MatrixView view = part.data().view();
    launch_each(view.blocks, place_blocks, view, static_cast<const std::int64_t*>(next.get()), all.column.get(),
                all.at.get());
    launch_each(all.rows.count(), count_rows, view, next.get());
  }
  sum_before(all.at);
  all.numbers_there = device_array<double>(all.numbers);
  next = copy_of(all.first);
  for (DeviceMatrix& part : parts) {
    const MatrixView view = part.data().view();
    launch_warps(view.blocks, copy_blocks, view, static_cast<const std::int64_t*>(next.get()),
                 static_cast<const std::int64_t*>(all.at.get()), all.numbers_there.get());
    launch_each(all.rows.count(), count_rows, view, next.get());
    part = DeviceMatrix();
  }
  return out;
}

}  // namespace quadrille::block_dft
