// Sums over the elements of matrices, and what is looked for among them.
#include "modules/block_dft/matrix/block_terms.h"
#include "modules/block_dft/matrix/cuda/block_work.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/matrix/every_rank.h"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace quadrille::block_dft {
namespace {

/// Slots sorted by column, rows ascending in each.
struct ColumnIndex {
  DeviceArray<std::int64_t> slot, first;  ///< [block], [column + 1]
};

__global__ void number_slots(std::int64_t blocks, std::int64_t* slot) {
  if (thread_number() < blocks) slot[thread_number()] = thread_number();
}

/// Where each column begins among sorted ones.
__global__ void find_columns(const std::int32_t* sorted, std::int64_t blocks, std::int32_t columns,
                             std::int64_t* first) {
  const std::int64_t j = thread_number();
  if (j > columns) return;
  std::int64_t low = 0, high = blocks;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (sorted[middle] < j) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  first[j] = low;
}

ColumnIndex column_index(const DeviceMatrix::Data& m) {
  ColumnIndex out{device_array<std::int64_t>(m.blocks), device_array<std::int64_t>(m.columns.count() + 1)};
  const auto slots = device_array<std::int64_t>(m.blocks);
  const auto sorted = device_array<std::int32_t>(m.blocks);
  launch_each(m.blocks, number_slots, m.blocks, slots.get());
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, m.column.get(), sorted.get(), slots.get(), out.slot.get(),
                                           m.blocks, 0, int(std::bit_width(std::uint32_t(m.columns.count()))),
                                           cuda::stream());
  });
  launch_each(m.columns.count() + 1, find_columns, static_cast<const std::int32_t*>(sorted.get()), m.blocks,
              m.columns.count(), out.first.get());
  return out;
}

/// Of all rows of elements, on the host.
struct Disks {
  std::vector<double> centre, radius;

  /// Of all ranks.
  explicit Disks(const DeviceMatrix::Data& m) {
    on_every_rank(m.rows.grid(), [&] { find_here(m); });
    sum_over_ranks(m.rows.grid(), centre.data(), centre.size());
    sum_over_ranks(m.rows.grid(), radius.data(), radius.size());
  }

 private:
  void find_here(const DeviceMatrix::Data& m) {
    const std::int64_t n = m.rows.total();
    const auto centres = device_array<double>(n), radii = device_array<double>(n);
    const DeviceArray<std::int64_t> row = offsets_on_device(m.rows), column = offsets_on_device(m.columns);
    ColumnIndex index;
    if (m.symmetry != Symmetry::none) index = column_index(m);
    launch_work(m.rows.count(), DisksOfRow{m.view(), row.get(), column.get(), index.slot.get(), index.first.get(),
                                           centres.get(), radii.get()});
    centre = cuda::fetched(centres.get(), n);
    radius = cuda::fetched(radii.get(), n);
  }
};

/// The sum over ranks of what each has.
template <class Step>
double over_ranks(const DeviceMatrix& a, const Step& here) {
  double value = on_every_rank(a.rows().grid(), here);
  sum_over_ranks(a.rows().grid(), &value, 1);
  return value;
}

/// The first number that is not finite; `first` begins above all.
__global__ void find_not_finite(const double* data, std::int64_t numbers, unsigned long long* first) {
  const std::int64_t k = thread_number();
  if (k < numbers && !isfinite(data[k])) atomicMin(first, static_cast<unsigned long long>(k));  // any order: the same
}

}  // namespace

double sum_of(const DeviceArray<double>& terms) {
  const auto sum = device_array<double>(1);
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(memory, bytes, terms.get(), sum.get(), terms.count(), cuda::stream());
  });
  return last_of(sum);
}

double DeviceMatrix::occupation() const {
  const Data& there = *data_;
  const double numbers = over_ranks(*this, [&] {
    if (there.symmetry == Symmetry::none) return double(there.numbers);
    // With what it stands for without storing it.
    return 2 * double(there.numbers) - sum_of(sums_of_work(there.rows.count(), NumbersOnDiagonal{there.view()}));
  });
  const double all = double(there.rows.total()) * double(there.columns.total());
  return all > 0 ? numbers / all : 0;
}

double trace(const DeviceMatrix& a) {
  require_square(a);
  return over_ranks(a, [&] {
    const DeviceArray<std::int64_t> row = offsets_on_device(a.rows());
    return sum_of(sums_of_work(a.rows().count(), TraceOfRow{a.data().view(), row.get()}));
  });
}

double dot(const DeviceMatrix& a, const DeviceMatrix& b) {
  require_same(a.rows(), b.rows(), "rows of both factors of a dot product");
  require_same(a.columns(), b.columns(), "columns of both factors of a dot product");
  if (a.symmetry() != b.symmetry()) return dot(without_symmetry(a), without_symmetry(b));
  const DotOfBlock of_block{a.data().view(), b.data().view(), a.symmetry() != Symmetry::none};
  return over_ranks(a, [&] { return sum_of(sums_of_work(a.block_count(), of_block)); });
}

namespace {

/// Of this rank's blocks.
std::vector<double> row_dots_here(const DeviceMatrix& a, const DeviceMatrix& b) {
  const DeviceMatrix::Data& there = a.data();
  const DeviceArray<double> sums = sums_of_work(there.blocks, DotOfBlock{there.view(), b.data().view(), false});
  const std::vector<double> shared = cuda::fetched(sums.get(), there.blocks);
  const std::vector<std::int32_t> column = cuda::fetched(there.column.get(), there.blocks);
  const std::vector<std::int64_t> first = cuda::fetched(there.first.get(), there.first.count());
  std::vector<double> out(std::size_t(a.rows().count()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t slot = std::size_t(first[i]); slot < std::size_t(first[i + 1]); ++slot) {
      const std::size_t j = std::size_t(column[slot]);
      out[i] += shared[slot];
      if (a.symmetry() != Symmetry::none && i != j) out[j] += shared[slot];
    }
  }
  return out;
}

}  // namespace

std::vector<double> row_dots(const DeviceMatrix& a, const DeviceMatrix& b) {
  require_square(a);
  require_same(a.rows(), b.rows(), "rows of both factors of a dot product");
  std::vector<double> out = on_every_rank(a.rows().grid(), [&] { return row_dots_here(a, b); });
  sum_over_ranks(a.rows().grid(), out.data(), out.size());
  return out;
}

double frobenius_norm(const DeviceMatrix& a) { return std::sqrt(dot(a, a)); }

Interval gershgorin(const DeviceMatrix& a) {
  require_square(a);
  const Disks disks(a.data());
  if (disks.centre.empty()) return {};
  Interval all{disks.centre[0] - disks.radius[0], disks.centre[0] + disks.radius[0]};
  for (std::size_t p = 1; p < disks.centre.size(); ++p) {
    all.low = std::min(all.low, disks.centre[p] - disks.radius[p]);
    all.high = std::max(all.high, disks.centre[p] + disks.radius[p]);
  }
  return all;
}

double row_sum_norm(const DeviceMatrix& a) {
  const Disks disks(a.data());
  double largest = 0;
  for (std::size_t p = 0; p < disks.centre.size(); ++p) {
    largest = std::max(largest, std::abs(disks.centre[p]) + disks.radius[p]);
  }
  return largest;
}

void require_finite(const DeviceMatrix& a, const std::string& name) {
  const DeviceMatrix::Data& there = a.data();
  const double ranks_with_one = over_ranks(a, [&] {
    const auto place = device_array<unsigned long long>(1);
    QUADRILLE_CUDA_CHECK(cudaMemsetAsync(place.get(), 0xff, sizeof(unsigned long long), cuda::stream()));
    launch_each(there.numbers, find_not_finite, static_cast<const double*>(there.numbers_there.get()), there.numbers,
                place.get());
    const unsigned long long found = cuda::fetched(place.get(), 1).front();
    return found < static_cast<unsigned long long>(there.numbers) ? 1.0 : 0.0;
  });
  if (ranks_with_one > 0) require_finite(a.fetch(), name);
}

}  // namespace quadrille::block_dft
