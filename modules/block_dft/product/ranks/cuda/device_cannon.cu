#include "modules/block_dft/product/ranks/cuda/device_cannon.h"

#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/matrix/every_rank.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <bit>

namespace quadrille::block_dft {
namespace {

__global__ void write_index(MatrixView matrix, const double* norms, IndexEntry* entries) {
  const std::int64_t slot = thread_number();
  if (slot >= matrix.blocks) return;
  entries[slot].place.row = row_of(matrix, slot);
  entries[slot].place.column = matrix.column[slot];
  entries[slot].norm = norms != nullptr ? norms[slot] : 0;
}

__global__ void write_places(std::int64_t blocks, const IndexEntry* entries, std::uint64_t* keys,
                             std::uint32_t* numbers) {
  const std::int64_t n = thread_number();
  if (n >= blocks) return;
  keys[n] = (std::uint64_t(entries[n].place.row) << 32) | std::uint64_t(std::uint32_t(entries[n].place.column));
  numbers[n] = std::uint32_t(n);
}

/// Of sorted places; `row`, `column`: where blocks begin in elements.
__global__ void write_blocks(std::int64_t blocks, const std::uint64_t* keys, const std::uint32_t* numbers,
                             const IndexEntry* entries, const std::int64_t* row, const std::int64_t* column,
                             std::int32_t* columns, std::int64_t* sizes, double* norms) {
  const std::int64_t n = thread_number();
  if (n >= blocks) return;
  const std::int64_t i = std::int64_t(keys[n] >> 32), j = std::int64_t(keys[n] & 0xffffffffu);
  columns[n] = std::int32_t(j);
  sizes[n] = (row[i + 1] - row[i]) * (column[j + 1] - column[j]);
  norms[n] = entries[numbers[n]].norm;
}

/// Of blocks in each place along a side.
__global__ void count_numbers(MatrixView matrix, const std::int32_t* place, bool along_columns,
                              unsigned long long* numbers) {
  const std::int64_t slot = thread_number();
  if (slot >= matrix.blocks) return;
  const std::int32_t k = along_columns ? matrix.column[slot] : row_of(matrix, slot);
  // Of integers: any order gives the same.
  atomicAdd(numbers + place[k], static_cast<unsigned long long>(matrix.at[slot + 1] - matrix.at[slot]));
}

/// The first of sorted places in each row.
__global__ void find_rows(std::int64_t blocks, const std::uint64_t* keys, std::int32_t rows, std::int64_t* first) {
  const std::int64_t i = thread_number();
  if (i > rows) return;
  std::int64_t low = 0, high = blocks;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (std::int64_t(keys[middle] >> 32) < i) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  first[i] = low;
}

/// Steps of a task are sorted by their parts.
__global__ void find_steps_of_part(std::int64_t tasks, const Step* steps, const std::int64_t* step_first,
                                   const std::int64_t* step_count, std::uint32_t part, std::int64_t* first,
                                   std::int64_t* count) {
  const std::int64_t task = thread_number();
  if (task >= tasks) return;
  const std::int64_t begin = step_first[task], end = begin + step_count[task];
  const auto lower = [&](std::uint32_t of) {
    std::int64_t low = begin, high = end;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (steps[middle].extents >> 24 < of) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  first[task] = lower(part);
  count[task] = lower(part + 1) - first[task];
}

/// Bytes of a part, and where it begins.
template <class T>
std::int64_t part_bytes(const PackedFactor& factor, int part) {
  const std::vector<std::int64_t>& at = factor.numbers<T>().part_at;
  return at.empty() ? 0 : 16 * (at[std::size_t(part) + 1] - at[std::size_t(part)]);
}
template <class T>
const std::byte* part_begin(const PackedFactor& factor, int part) {
  const PackedNumbers<T>& numbers = factor.numbers<T>();
  if (numbers.part_at.empty()) return nullptr;
  return reinterpret_cast<const std::byte*>(numbers.data.get()) + 16 * numbers.part_at[std::size_t(part)];
}

}  // namespace

// ---- indices --------------------------------------------------------------------------------------------------------

DeviceArray<IndexEntry> index_entries(const DeviceMatrix& matrix, bool with_norms) {
  const MatrixView view = matrix.data().view();
  DeviceArray<double> norms;
  if (with_norms) norms = norms_on_device(view);
  auto entries = device_array<IndexEntry>(view.blocks);
  launch_each(view.blocks, write_index, view, static_cast<const double*>(norms.get()), entries.get());
  return entries;
}

double largest_panel(const DeviceMatrix& matrix, bool along_columns) {
  const BlockSizes& along = along_columns ? matrix.columns() : matrix.rows();
  std::vector<std::int32_t> place;
  for (std::int32_t k = 0; k < along.count(); ++k) place.push_back(along.place(k));
  const DeviceArray<std::int32_t> there = cuda::sent(place, device_what, device_advice);
  const std::int64_t places = along.grid()->places();
  const auto numbers = device_array<unsigned long long>(places);
  QUADRILLE_CUDA_CHECK(
      cudaMemsetAsync(numbers.get(), 0, std::size_t(places) * sizeof(unsigned long long), cuda::stream()));
  const MatrixView view = matrix.data().view();
  launch_each(view.blocks, count_numbers, view, static_cast<const std::int32_t*>(there.get()), along_columns,
              numbers.get());
  const std::vector<unsigned long long> all = cuda::fetched(numbers.get(), places);
  return double(*std::max_element(all.begin(), all.end()));
}

DeviceIndex gathered_index(const MatrixGrid& grid, const BlockSizes& rows, const BlockSizes& columns,
                           const DeviceArray<IndexEntry>& mine, const std::vector<int>& peers) {
  if (peers.size() == 1) {
    return on_every_rank(grid.ranks(), [&] { return index_of(rows, columns, mine.get(), mine.count()); });
  }
  constexpr std::int64_t size = sizeof(IndexEntry);
  const std::int64_t count = mine.count();
  std::vector<std::int64_t> counts(std::size_t(grid.ranks().size()));
  grid.ranks().gather(&count, sizeof count, counts.data());
  std::int64_t before = 0, total = 0;  // blocks of the peers before this rank; of all
  std::vector<ReceivedPiece> received;
  for (const int peer : peers) {
    if (peer == grid.ranks().rank()) before = total;
    received.push_back({peer, size * counts[std::size_t(peer)], size * total});
    total += counts[std::size_t(peer)];
  }
  std::vector<SentPiece> sent;
  for (const int peer : peers) sent.push_back({peer, mine.get(), size * count, size * before});
  DeviceExchange& exchange = DeviceExchange::of(grid);
  exchange.reserve(size * total);
  exchange.run(sent, received);
  return on_every_rank(grid.ranks(), [&] {
    exchange.rethrow();
    const auto* const entries = static_cast<const IndexEntry*>(static_cast<const void*>(exchange.window()));
    DeviceIndex out = index_of(rows, columns, entries, total);
    cuda_backend().synchronize();  // the window is free again
    return out;
  });
}

DeviceIndex index_of(const BlockSizes& rows, const BlockSizes& columns, const IndexEntry* entries,
                     std::int64_t blocks) {
  auto keys = device_array<std::uint64_t>(blocks), sorted = device_array<std::uint64_t>(blocks);
  auto numbers = device_array<std::uint32_t>(blocks), order = device_array<std::uint32_t>(blocks);
  launch_each(blocks, write_places, blocks, entries, keys.get(), numbers.get());
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.get(), sorted.get(), numbers.get(), order.get(), blocks,
                                           0, 32 + int(std::bit_width(std::uint32_t(rows.count()))), cuda::stream());
  });
  DeviceIndex out;
  DeviceMatrix::Data& places = out.places;
  places.rows = rows;
  places.columns = columns;
  places.blocks = blocks;
  places.first = device_array<std::int64_t>(rows.count() + 1);
  places.column = device_array<std::int32_t>(blocks);
  places.at = zeroed(blocks + 1);
  out.norms = device_array<double>(blocks);
  const DeviceArray<std::int64_t> row = offsets_on_device(rows), column = offsets_on_device(columns);
  launch_each(blocks, write_blocks, blocks, static_cast<const std::uint64_t*>(sorted.get()),
              static_cast<const std::uint32_t*>(order.get()), entries, static_cast<const std::int64_t*>(row.get()),
              static_cast<const std::int64_t*>(column.get()), places.column.get(), places.at.get(), out.norms.get());
  launch_each(rows.count() + 1, find_rows, blocks, static_cast<const std::uint64_t*>(sorted.get()), rows.count(),
              places.first.get());
  sum_before(places.at);
  out.order = std::move(order);
  return out;
}

// ---- panels ---------------------------------------------------------------------------------------------------------

PanelFlow::PanelFlow(const MatrixGrid& grid, const CannonSchedule& schedule, const PackedFactor& a,
                     const PackedFactor& b, const PackedFactor& whole_a, const PackedFactor& whole_b)
    : grid_(grid),
      schedule_(schedule),
      own_a_(a),
      own_b_(b),
      whole_a_(whole_a),
      whole_b_(whole_b),
      exchange_(DeviceExchange::of(grid)),
      slots_(std::size_t(grid.ranks().size())) {
  lay_out();
}

/// In the window: A's panels of even steps, of odd ones, B's of even steps, of odd ones.
void PanelFlow::lay_out() {
  std::int64_t largest[4] = {};
  for (int step = 0; step < schedule_.steps(); ++step) {
    const auto bytes = [&](const PackedFactor& whole) {
      return part_bytes<double>(whole, step) + part_bytes<float>(whole, step);
    };
    std::int64_t &of_a = largest[step % 2], &of_b = largest[2 + step % 2];
    if (!schedule_.has_a(step)) of_a = std::max(of_a, bytes(whole_a_));
    if (!schedule_.has_b(step)) of_b = std::max(of_b, bytes(whole_b_));
  }
  std::int64_t all = 0;
  for (int n = 0; n < 4; ++n) {
    mine_.begin[n] = all;
    all += (largest[n] + 255) / 256 * 256;
  }
  grid_.ranks().gather(&mine_, sizeof mine_, slots_.data());
  exchange_.reserve(all);
}

template <class T>
const void* PanelFlow::place(const PackedFactor& own, const PackedFactor& whole, bool has, int side, int step) const {
  if (has) return part_begin<T>(own, step);
  return exchange_.window() + slot(side, step) + (sizeof(T) == sizeof(float) ? part_bytes<double>(whole, step) : 0);
}
template const void* PanelFlow::place<double>(const PackedFactor&, const PackedFactor&, bool, int, int) const;
template const void* PanelFlow::place<float>(const PackedFactor&, const PackedFactor&, bool, int, int) const;

template <class T>
void PanelFlow::add_pieces(int step, std::vector<SentPiece>& sent, std::vector<ReceivedPiece>& received) const {
  const auto behind = [](const PackedFactor& factor, int part) {  // the same panel in double
    return sizeof(T) == sizeof(float) ? part_bytes<double>(factor, part) : 0;
  };
  const auto add = [&](const PackedFactor& own, const PackedFactor& whole, int side, int from, int to, int part) {
    received.push_back({from, part_bytes<T>(whole, step), slot(side, step) + behind(whole, step)});
    sent.push_back({to, part_begin<T>(own, part), part_bytes<T>(own, part),
                    slots_[std::size_t(to)].begin[side + step % 2] + behind(own, part)});
  };
  if (!schedule_.has_a(step)) {
    const int to = schedule_.column_to(step);
    add(own_a_, whole_a_, 0, schedule_.source_of_a(step), grid_.rank_at(grid_.row(), to),
        schedule_.step_of_panel(grid_.row(), to, step));
  }
  if (!schedule_.has_b(step)) {
    const int to = schedule_.row_to(step);
    add(own_b_, whole_b_, 2, schedule_.source_of_b(step), grid_.rank_at(to, grid_.column()),
        schedule_.step_of_panel(to, grid_.column(), step));
  }
}

void PanelFlow::bring(int step) {
  std::vector<SentPiece> sent;
  std::vector<ReceivedPiece> received;
  add_pieces<double>(step, sent, received);
  if (!own_a_.single.part_at.empty()) add_pieces<float>(step, sent, received);
  if (!sent.empty()) exchange_.run(sent, received);
}

PartSteps::PartSteps(std::int64_t tasks)
    : first(device_array<std::int64_t>(tasks)), count(device_array<std::int64_t>(tasks)) {}

void PartSteps::find(const Tasks& tasks, const StepList& steps, int part) {
  launch_each(tasks.count, find_steps_of_part, tasks.count, static_cast<const Step*>(steps.step.get()),
              static_cast<const std::int64_t*>(tasks.step_first.get()),
              static_cast<const std::int64_t*>(steps.count.get()), std::uint32_t(part), first.get(), count.get());
}

}  // namespace quadrille::block_dft
