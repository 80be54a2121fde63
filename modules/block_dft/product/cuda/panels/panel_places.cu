#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/product/cuda/panels/panel_places.h"

namespace quadrille::block_dft {
namespace {

/// Blocks of each row that are in the panel.
__global__ void count_blocks(MatrixView all, BlockRange rows, BlockRange columns, std::int64_t* count) {
  const std::int64_t i = thread_number();
  if (i < rows.begin || i >= rows.end) return;
  count[i] = lower_slot(all, std::int32_t(i), columns.end) - lower_slot(all, std::int32_t(i), columns.begin);
}

__global__ void copy_places(MatrixView all, BlockRange columns, MatrixView part, std::int32_t* column,
                            std::int64_t* numbers) {
  const std::int64_t slot = thread_number();
  if (slot >= part.blocks) return;
  const std::int32_t i = row_of(part, slot);
  const std::int64_t from = lower_slot(all, i, columns.begin) + slot - part.first[i];
  column[slot] = all.column[from];
  numbers[slot] = all.at[from + 1] - all.at[from];
}

}  // namespace

void set_places(const DeviceMatrix::Data& all, BlockRange rows, BlockRange columns, DeviceMatrix::Data& part) {
  part.rows = all.rows;
  part.columns = all.columns;
  part.symmetry = all.symmetry;
  part.first = zeroed(all.rows.count() + 1);
  part.column = device_array<std::int32_t>(part.blocks);
  part.at = zeroed(part.blocks + 1);
  part.numbers_there = device_array<double>(part.numbers);
  launch_each(all.rows.count(), count_blocks, all.view(), rows, columns, part.first.get());
  sum_before(part.first);
  launch_each(part.blocks, copy_places, all.view(), columns, part.view(), part.column.get(), part.at.get());
  sum_before(part.at);
}

}  // namespace quadrille::block_dft
