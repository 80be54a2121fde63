// Sums of matrices, and what changes their numbers.
#include "modules/block_dft/matrix/block_terms.h"
#include "modules/block_dft/matrix/cuda/block_work.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/matrix/every_rank.h"

namespace quadrille::block_dft {
namespace {

/// The places of both; numbers are not set. `missing` counts the blocks that A lacks before each of B.
DeviceMatrix::Data united(const DeviceMatrix::Data& a, const DeviceMatrix::Data& b,
                          const DeviceArray<std::int64_t>& missing) {
  DeviceMatrix::Data out;
  out.rows = a.rows;
  out.columns = a.columns;
  out.symmetry = a.symmetry;
  out.blocks = a.blocks + last_of(missing);
  out.first = device_array<std::int64_t>(a.rows.count() + 1);
  out.column = device_array<std::int32_t>(out.blocks);
  out.at = zeroed(out.blocks + 1);
  launch_work(a.rows.count() + 1, BeginUnion{a.view(), b.view(), missing.get(), out.first.get()});
  for (const bool of_a : {true, false}) {
    launch_work(of_a ? a.blocks : b.blocks,
                PlaceInUnion{a.view(), b.view(), of_a, missing.get(), out.column.get(), out.at.get()});
  }
  sum_before(out.at);
  out.numbers = last_of(out.at);
  out.numbers_there = device_array<double>(out.numbers);
  return out;
}

/// Zero blocks on the diagonal: those of this rank.
DeviceMatrix zero_diagonal(const BlockSizes& sizes, Symmetry symmetry) {
  const BlockPattern owners(sizes, sizes, symmetry);
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < sizes.count(); ++i) {
    if (owners.owns(i, i)) column.push_back(i);
    first.push_back(std::int64_t(column.size()));
  }
  return DeviceMatrix(BlockMatrix<double>::with_pattern(sizes, sizes, symmetry, std::move(first), std::move(column)));
}

/// A = alpha A + beta B of this rank's blocks.
void add_here(double alpha, DeviceMatrix::Data& a, double beta, const DeviceMatrix::Data& b) {
  DeviceMatrix::Data sum;
  DeviceArray<std::int64_t> missing = zeroed(b.blocks + 1);
  launch_work(b.blocks, MarkMissing{a.view(), b.view(), missing.get()});
  sum_before(missing);
  const bool inside = last_of(missing) == 0;
  if (!inside) sum = united(a, b, missing);
  DeviceMatrix::Data& to = inside ? a : sum;
  launch_work(to.blocks, AddBlocks{to.view(), a.view(), b.view(), to.numbers_there.get(), alpha, beta});
  if (!inside) a = std::move(sum);
}

}  // namespace

void scale(DeviceMatrix& a, double alpha) {
  DeviceMatrix::Data& there = a.data();
  launch_work(there.blocks, ScaleBlock{there.view(), there.numbers_there.get(), alpha});
}

void scale_by_means(DeviceMatrix& a, const std::vector<double>& factor) {
  DeviceMatrix::Data& there = a.data();
  on_every_rank(a.rows().grid(), [&] {
    const DeviceArray<double> sent = cuda::sent(factor, device_what, device_advice);
    launch_work(there.blocks, ScaleByMean{there.view(), there.numbers_there.get(), sent.get()});
  });
}

void add(double alpha, DeviceMatrix& a, double beta, const DeviceMatrix& b) {
  if (!require_terms(a, b)) return add(alpha, a, beta, without_symmetry(b));
  on_every_rank(a.rows().grid(), [&] { add_here(alpha, a.data(), beta, b.data()); });
}

void add_identity(DeviceMatrix& a, double alpha) {
  require_term_of_identity(a);
  const bool complete = !a.rows().grid() && sum_of(sums_of_work(a.rows().count(), LacksDiagonal{a.data().view()})) == 0;
  if (!complete) add(1, a, 1, zero_diagonal(a.rows(), a.symmetry()));
  DeviceMatrix::Data& there = a.data();
  on_every_rank(there.rows.grid(), [&] {
    const DeviceArray<std::int64_t> row = offsets_on_device(there.rows);
    launch_work(there.rows.count(), AddToDiagonal{there.view(), row.get(), there.numbers_there.get(), alpha});
  });
}

}  // namespace quadrille::block_dft
