#include "modules/block_dft/product/ranks/cuda/transposes_on_ranks.h"

#include "modules/block_dft/matrix/block_terms.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"
#include "modules/block_dft/matrix/every_rank.h"
#include "modules/block_dft/product/ranks/cuda/device_cannon.h"

#include <cub/device/device_radix_sort.cuh>

#include <bit>

namespace quadrille::block_dft {
namespace {

/// Which blocks of A are turned: all, those off the diagonal, or those that come to the upper half.
enum class Turned { all, off_diagonal, to_upper };

/// Where blocks go: block (i, j) to rank row[j] + column[i], the owner of (j, i).
struct Owners {
  const std::int32_t *row, *column;
  std::uint32_t nobody;  ///< the number of ranks
  Turned which;
  __device__ std::uint32_t of(std::int32_t i, std::int32_t j) const {
    const bool goes = which == Turned::all || (which == Turned::off_diagonal ? i != j : i >= j);
    return goes ? std::uint32_t(row[j] + column[i]) : nobody;
  }
};

__global__ void find_owners(MatrixView a, Owners owners, std::uint32_t* owner, std::uint32_t* slots) {
  const std::int64_t slot = thread_number();
  if (slot >= a.blocks) return;
  owner[slot] = owners.of(row_of(a, slot), a.column[slot]);
  slots[slot] = std::uint32_t(slot);
}

/// Sizes and places of the blocks to be sent, in the order of their owners.
__global__ void list_blocks(MatrixView a, const std::uint32_t* slots, std::int64_t* sizes, IndexEntry* entries) {
  const std::int64_t n = thread_number();
  if (n >= a.blocks) return;
  const std::int64_t slot = slots[n];
  sizes[n] = a.at[slot + 1] - a.at[slot];
  entries[n].place.row = a.column[slot];
  entries[n].place.column = row_of(a, slot);
  entries[n].norm = 0;
}

/// first[rank]: of sorted blocks.
__global__ void begin_owners(std::int64_t blocks, std::uint32_t ranks, const std::uint32_t* owner,
                             std::int64_t* first) {
  const std::int64_t rank = thread_number();
  if (rank > ranks) return;
  std::int64_t low = 0, high = blocks;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (owner[middle] < rank) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  first[rank] = low;
}

/// A warp turns a block.
__global__ void turn_blocks(MatrixView a, std::int64_t count, const std::uint32_t* slots, const std::int64_t* at,
                            const std::int64_t* column, double sign, double* to) {
  const std::int64_t n = warp_number();
  if (n >= count) return;
  const std::int64_t slot = slots[n], numbers = a.at[slot + 1] - a.at[slot];
  const std::int32_t j = a.column[slot];
  const std::int64_t width = column[j + 1] - column[j], height = numbers / width;
  for (std::int64_t e = lane_number(); e < numbers; e += 32) {
    to[at[n] + e] = sign * a.data[a.at[slot] + e % height * width + e / height];
  }
}

/// Numbers of blocks; `row`, `column`: where those of the matrix begin in elements.
__global__ void measure_entries(std::int64_t blocks, const IndexEntry* entries, const std::int64_t* row,
                                const std::int64_t* column, std::int64_t* numbers) {
  const std::int64_t n = thread_number();
  if (n >= blocks) return;
  const std::int32_t i = entries[n].place.row, j = entries[n].place.column;
  numbers[n] = (row[i + 1] - row[i]) * (column[j + 1] - column[j]);
}

/// A warp takes a block from where it has come to.
__global__ void place_blocks(MatrixView out, const std::uint32_t* order, const std::int64_t* from_at,
                             const double* from, double* data) {
  const std::int64_t slot = warp_number();
  if (slot >= out.blocks) return;
  const double* block = from + from_at[order[slot]];
  for (std::int64_t e = lane_number(); e < out.at[slot + 1] - out.at[slot]; e += 32) data[out.at[slot] + e] = block[e];
}

__global__ void mark_upper(MatrixView a, std::int64_t* stays, std::int64_t* numbers) {
  const std::int64_t slot = thread_number();
  if (slot >= a.blocks) return;
  const bool upper = row_of(a, slot) <= a.column[slot];
  stays[slot] = upper ? 1 : 0;
  numbers[slot] = upper ? a.at[slot + 1] - a.at[slot] : 0;
}

/// What a rank sends: blocks in the order of the ranks they go to, turned.
struct Outgoing {
  DeviceArray<double> numbers;
  DeviceArray<IndexEntry> entries;
  std::vector<std::int64_t> first, at;  ///< [rank + 1]: of blocks, of numbers

  Outgoing(const DeviceMatrix& a, double sign, Turned which);
};

Outgoing::Outgoing(const DeviceMatrix& a, double sign, Turned which) {
  const MatrixGrid& grid = *a.rows().grid();
  const auto ranks = std::uint32_t(grid.ranks().size());
  const MatrixView view = a.data().view();
  std::vector<std::int32_t> row, column;
  for (std::int32_t j = 0; j < a.columns().count(); ++j) {
    row.push_back(grid.rank_at(a.columns().place(j) % grid.rows(), 0));
  }
  for (std::int32_t i = 0; i < a.rows().count(); ++i) column.push_back(a.rows().place(i) % grid.columns());
  const auto row_there = cuda::sent(row, device_what, device_advice);
  const auto column_there = cuda::sent(column, device_what, device_advice);
  auto owner = device_array<std::uint32_t>(view.blocks), sorted = device_array<std::uint32_t>(view.blocks);
  auto slots = device_array<std::uint32_t>(view.blocks), order = device_array<std::uint32_t>(view.blocks);
  launch_each(view.blocks, find_owners, view, Owners{row_there.get(), column_there.get(), ranks, which}, owner.get(),
              slots.get());
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, owner.get(), sorted.get(), slots.get(), order.get(),
                                           view.blocks, 0, int(std::bit_width(ranks)), cuda::stream());
  });
  auto begins = device_array<std::int64_t>(ranks + 1);
  launch_each(ranks + 1, begin_owners, view.blocks, ranks, static_cast<const std::uint32_t*>(sorted.get()),
              begins.get());
  first = cuda::fetched(begins.get(), ranks + 1);
  auto places = zeroed(view.blocks + 1);
  entries = device_array<IndexEntry>(view.blocks);
  launch_each(view.blocks, list_blocks, view, static_cast<const std::uint32_t*>(order.get()), places.get(),
              entries.get());
  sum_before(places);
  for (const std::int64_t block : first) at.push_back(cuda::fetched(places.get() + block, 1).front());
  numbers = device_array<double>(at.back());
  const DeviceArray<std::int64_t> widths = offsets_on_device(a.columns());
  launch_warps(first.back(), turn_blocks, view, first.back(), static_cast<const std::uint32_t*>(order.get()),
               static_cast<const std::int64_t*>(places.get()), static_cast<const std::int64_t*>(widths.get()), sign,
               numbers.get());
  cuda_backend().synchronize();
}

/// Brings what each rank has for each into the windows, by the ranks it comes from: `first` says which elements of
/// `memory` are for whom. Gives how many elements come.
std::int64_t exchange_elements(DeviceExchange& exchange, const Communicator& ranks, const void* memory,
                               std::int64_t element, const std::vector<std::int64_t>& first) {
  const auto count = std::size_t(ranks.size()), me = std::size_t(ranks.rank());
  std::vector<std::int64_t> all(count * (count + 1));  // [from][to]: where what goes to each begins
  ranks.gather(first.data(), (count + 1) * sizeof(std::int64_t), all.data());
  const auto elements = [&](std::size_t from, std::size_t to) {
    return all[from * (count + 1) + to + 1] - all[from * (count + 1) + to];
  };
  std::vector<SentPiece> sent;
  std::vector<ReceivedPiece> received;
  std::int64_t here = 0;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::int64_t there = 0;
    for (std::size_t before = 0; before < me; ++before) there += elements(before, rank);
    sent.push_back({int(rank), static_cast<const std::byte*>(memory) + element * first[rank],
                    element * elements(me, rank), element * there});
    received.push_back({int(rank), element * elements(rank, me), element * here});
    here += elements(rank, me);
  }
  exchange.reserve(element * here);
  exchange.run(sent, received);
  return here;
}

/// The matrix with sign A_ij^T at (j, i), each at its owner.
DeviceMatrix turned(const DeviceMatrix& a, double sign, Turned which) {
  const MatrixGrid& grid = *a.rows().grid();
  DeviceExchange& exchange = DeviceExchange::of(grid);
  const Outgoing going = on_every_rank(grid.ranks(), [&] { return Outgoing(a, sign, which); });
  const std::int64_t blocks =
      exchange_elements(exchange, grid.ranks(), going.entries.get(), sizeof(IndexEntry), going.first);
  DeviceMatrix out;
  DeviceIndex index;
  DeviceArray<std::int64_t> from_at;  // of each entry's numbers among those that come
  on_every_rank(grid.ranks(), [&] {
    exchange.rethrow();
    const auto* const entries = static_cast<const IndexEntry*>(static_cast<const void*>(exchange.window()));
    index = index_of(a.columns(), a.rows(), entries, blocks);
    from_at = zeroed(blocks + 1);
    const DeviceArray<std::int64_t> row = offsets_on_device(a.columns()), column = offsets_on_device(a.rows());
    launch_each(blocks, measure_entries, blocks, entries, static_cast<const std::int64_t*>(row.get()),
                static_cast<const std::int64_t*>(column.get()), from_at.get());
    sum_before(from_at);
    DeviceMatrix::Data& there = out.data() = std::move(index.places);
    there.numbers = last_of(from_at);  // which waits: the window is free again
    there.numbers_there = device_array<double>(there.numbers);
  });
  exchange_elements(exchange, grid.ranks(), going.numbers.get(), sizeof(double), going.at);
  on_every_rank(grid.ranks(), [&] {
    exchange.rethrow();
    const auto* const numbers = static_cast<const double*>(static_cast<const void*>(exchange.window()));
    launch_warps(out.block_count(), place_blocks, out.data().view(),
                 static_cast<const std::uint32_t*>(index.order.get()), static_cast<const std::int64_t*>(from_at.get()),
                 numbers, out.data().numbers_there.get());
    cuda_backend().synchronize();  // the window is free again
  });
  return out;
}

}  // namespace

DeviceMatrix transposed_on_ranks(const DeviceMatrix& a) {
  if (a.symmetry() == Symmetry::none) return turned(a, 1, Turned::all);
  DeviceMatrix out = copied(a);
  scale(out, -1);
  return out;
}

DeviceMatrix without_symmetry_on_ranks(const DeviceMatrix& a) {
  DeviceMatrix out = copied(a);
  out.data().symmetry = Symmetry::none;
  add(1, out, 1, turned(a, mirror_sign(a.symmetry()), Turned::off_diagonal));
  return out;
}

DeviceMatrix with_symmetry_on_ranks(const DeviceMatrix& a, Symmetry symmetry) {
  require_square(a);
  DeviceMatrix out = without_symmetry(a);
  DeviceMatrix mirror = turned(out, mirror_sign(symmetry), Turned::to_upper);
  DeviceMatrix::Data& there = out.data();
  on_every_rank(a.rows().grid(), [&] {
    DeviceArray<std::int64_t> stays = zeroed(there.blocks + 1), numbers = zeroed(there.blocks + 1);
    launch_each(there.blocks, mark_upper, there.view(), stays.get(), numbers.get());
    keep_marked(there, stays, numbers);
  });
  there.symmetry = mirror.data().symmetry = symmetry;
  add(0.5, out, 0.5, mirror);
  symmetrise_on_device(there);
  return out;
}

}  // namespace quadrille::block_dft
