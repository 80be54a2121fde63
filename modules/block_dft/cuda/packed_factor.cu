#include "modules/block_dft/cuda/packed_factor.h"

#include "core/error.h"
#include "modules/block_dft/cuda/launch.cuh"

#include <cub/cub.cuh>

#include <bit>
#include <limits>
#include <string>

namespace quadrille::block_dft {
namespace {

/// Keys sort pieces by panel, inner piece and place in the panel.
struct KeyBits {
  int inner, width;
  __host__ __device__ std::uint64_t key(std::int32_t panel, std::int32_t k, int place) const {
    return (std::uint64_t(panel) << (inner + width)) | (std::uint64_t(k) << width) | std::uint64_t(place);
  }
  __device__ std::int32_t panel(std::uint64_t key) const { return std::int32_t(key >> (inner + width)); }
  __device__ std::int32_t k(std::uint64_t key) const {
    return std::int32_t((key >> width) & ((std::uint64_t(1) << inner) - 1));
  }
  __device__ int place(std::uint64_t key) const { return int(key & ((1u << width) - 1)); }
};

struct SourceView {
  MatrixView matrix;
  bool outer_is_column, mirrors;  ///< the latter: blocks off the diagonal stand for two
  double mirror_sign;
  const Piece *outer, *inner;
  const std::int32_t *outer_first, *inner_first;
  int width;
};

/// One way in which a stored block is read; `number` is twice its slot, plus one for its mirror image.
struct Reading {
  std::int64_t slot;
  bool outer_is_column, exists;
  std::int32_t outer, inner;

  __device__ Reading(const SourceView& s, std::int64_t number) : slot(number / 2) {
    const std::int32_t i = row_of(s.matrix, slot), j = s.matrix.column[slot];
    const bool mirror = number % 2 != 0;
    exists = !mirror || (s.mirrors && i != j);
    outer_is_column = s.outer_is_column != mirror;
    outer = outer_is_column ? j : i;
    inner = outer_is_column ? i : j;
  }
};

__global__ void count_pieces(SourceView s, std::int64_t* counts, std::int32_t* outer_blocks) {
  const std::int64_t number = thread_number();
  if (number >= 2 * s.matrix.blocks) return;
  const Reading reading(s, number);
  counts[number] = 0;
  if (!reading.exists) return;
  counts[number] = std::int64_t(s.outer_first[reading.outer + 1] - s.outer_first[reading.outer]) *
                   (s.inner_first[reading.inner + 1] - s.inner_first[reading.inner]);
  atomicAdd(outer_blocks + reading.outer, 1);  // of integers: any order gives the same
}

__global__ void write_keys(SourceView s, KeyBits bits, const std::int64_t* before, std::uint64_t* keys,
                           std::uint32_t* readings) {
  const std::int64_t number = thread_number();
  if (number >= 2 * s.matrix.blocks) return;
  const Reading reading(s, number);
  if (!reading.exists) return;
  std::int64_t next = before[number];
  for (std::int32_t o = s.outer_first[reading.outer]; o < s.outer_first[reading.outer + 1]; ++o) {
    for (std::int32_t k = s.inner_first[reading.inner]; k < s.inner_first[reading.inner + 1]; ++k) {
      keys[next] = bits.key(o / s.width, k, o % s.width);
      readings[next++] = std::uint32_t(number);
    }
  }
}

__device__ __forceinline__ int padded(int size) { return (size + 1) & ~1; }

__global__ void measure_pieces(SourceView s, KeyBits bits, std::int64_t pieces, const std::uint64_t* keys,
                               std::int64_t* begins_entry, std::int64_t* sixteens) {
  const std::int64_t p = thread_number();
  if (p >= pieces) return;
  const std::uint64_t key = keys[p];
  begins_entry[p] = p == 0 || (key >> bits.width) != (keys[p - 1] >> bits.width) ? 1 : 0;
  const Piece outer = s.outer[bits.panel(key) * s.width + bits.place(key)];
  sixteens[p] = std::int64_t(outer.size) * (padded(s.inner[bits.k(key)].size) / 2);
}

struct EntryArrays {
  std::int64_t* panel_first;
  std::int32_t *k, *panel;
  std::uint32_t *at, *mask;
  std::int64_t* first_piece;
};

/// `entry_of`: of each piece, counted from its beginning. The thread of an entry's first piece writes it, and where
/// panels begin.
__global__ void write_entries(KeyBits bits, std::int64_t pieces, std::int32_t panels, const std::uint64_t* keys,
                              const std::int64_t* entry_of, const std::int64_t* at, EntryArrays out) {
  const std::int64_t p = thread_number();
  if (p >= pieces || entry_of[p] == entry_of[p + 1]) return;
  const std::int64_t entry = entry_of[p];
  const std::uint64_t key = keys[p];
  const std::int32_t panel = bits.panel(key);
  std::uint32_t mask = 0;
  for (std::int64_t q = p; q < pieces && (keys[q] >> bits.width) == (key >> bits.width); ++q) {
    mask |= 1u << bits.place(keys[q]);
  }
  out.k[entry] = bits.k(key);
  out.panel[entry] = panel;
  out.at[entry] = std::uint32_t(at[p]);
  out.mask[entry] = mask;
  out.first_piece[entry] = p;
  const std::int32_t before = p == 0 ? -1 : bits.panel(keys[p - 1]);
  for (std::int32_t begun = before + 1; begun <= panel; ++begun) out.panel_first[begun] = entry;
  if (entry_of[p + 1] != entry_of[pieces]) return;
  for (std::int32_t rest = panel + 1; rest <= panels; ++rest) out.panel_first[rest] = entry + 1;
}

constexpr int copy_warps = 4, copied = 32;  ///< the latter: the most of an inner piece, and outer rows at a time

/// A warp takes a piece; one that is read across its rows is turned in shared memory.
__global__ void __launch_bounds__(32 * copy_warps)
    copy_pieces(SourceView s, KeyBits bits, std::int64_t pieces, const std::uint64_t* keys,
                const std::uint32_t* readings, const std::int64_t* sixteens, const double* norms, double* data,
                double* norms_of_pieces) {
  __shared__ double tiles[copy_warps][copied][copied + 1];
  const std::int64_t p = std::int64_t(blockIdx.x) * copy_warps + threadIdx.x / 32;
  if (p >= pieces) return;
  const int lane = lane_number();
  double(*tile)[copied + 1] = tiles[threadIdx.x / 32];  // [inner][outer]
  const std::uint64_t key = keys[p];
  const Piece outer = s.outer[bits.panel(key) * s.width + bits.place(key)], inner = s.inner[bits.k(key)];
  const Reading reading(s, readings[p]);
  const double* from = s.matrix.data + s.matrix.at[reading.slot];
  const double sign = readings[p] % 2 != 0 ? s.mirror_sign : 1.0;
  const int length = padded(inner.size);
  double* to = data + 2 * sixteens[p];
  for (int begin = 0; begin < outer.size; begin += copied) {
    const int lines = min(copied, outer.size - begin);
    if (reading.outer_is_column) {
      const double* first = from + std::int64_t(inner.begin) * outer.whole + outer.begin + begin;
      for (int k = 0; k < inner.size && lane < lines; ++k) tile[k][lane] = first[std::int64_t(k) * outer.whole + lane];
    } else {
      const double* first = from + std::int64_t(outer.begin + begin) * inner.whole + inner.begin;
      for (int o = 0; o < lines && lane < inner.size; ++o) tile[lane][o] = first[std::int64_t(o) * inner.whole + lane];
    }
    __syncwarp();
    for (int o = 0; o < lines && lane < length; ++o) {
      to[(begin + o) * length + lane] = lane < inner.size ? sign * tile[lane][o] : 0.0;
    }
    __syncwarp();
  }
  if (norms != nullptr && lane == 0) norms_of_pieces[p] = norms[reading.slot];
}

int bits_for(std::int64_t count) { return std::max(1, int(std::bit_width(std::uint64_t(count)))); }

template <class T>
DeviceArray<T> zeros(std::int64_t count) {
  auto out = device_array<T>(count);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(out.get(), 0, std::size_t(count) * sizeof(T), cuda::stream()));
  return out;
}

}  // namespace

PackedFactor pack(const FactorSource& source) {
  const DeviceMatrix::Data& matrix = source.matrix;
  const SourceView s{matrix.view(),
                     source.outer_is_column,
                     matrix.symmetry != Symmetry::none,
                     double(mirror_sign(matrix.symmetry)),
                     source.outer.piece.get(),
                     source.inner.piece.get(),
                     source.outer.first.get(),
                     source.inner.first.get(),
                     source.width};
  PackedFactor out;
  out.panels = (source.outer.count + source.width - 1) / source.width;
  out.outer_blocks = zeros<std::int32_t>(source.outer.blocks);
  out.panel_first = zeros<std::int64_t>(out.panels + 1);
  const KeyBits bits{bits_for(source.inner.count), bits_for(source.width - 1)};

  auto before = zeros<std::int64_t>(2 * matrix.blocks + 1);
  launch_each(2 * matrix.blocks, count_pieces, s, before.get(), out.outer_blocks.get());
  sum_before(before);
  out.pieces = last_of(before);
  auto keys = device_array<std::uint64_t>(out.pieces), sorted = device_array<std::uint64_t>(out.pieces);
  auto readings = device_array<std::uint32_t>(out.pieces), sorted_readings = device_array<std::uint32_t>(out.pieces);
  launch_each(2 * matrix.blocks, write_keys, s, bits, before.get(), keys.get(), readings.get());
  before.reset();
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.get(), sorted.get(), readings.get(),
                                           sorted_readings.get(), out.pieces, 0,
                                           bits.inner + bits.width + bits_for(out.panels), cuda::stream());
  });
  keys.reset();
  readings.reset();

  auto entry_of = zeros<std::int64_t>(out.pieces + 1), at = zeros<std::int64_t>(out.pieces + 1);
  launch_each(out.pieces, measure_pieces, s, bits, out.pieces, sorted.get(), entry_of.get(), at.get());
  sum_before(entry_of);
  sum_before(at);
  out.entries = last_of(entry_of);
  const std::int64_t sixteens = last_of(at);
  if (sixteens > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(ErrorCode::unsupported, "a factor of " + std::to_string(16 * sixteens) +
                                            " bytes: a product on a GPU takes factors of up to 64 GiB");
  }
  out.k = device_array<std::int32_t>(out.entries);
  out.panel = device_array<std::int32_t>(out.entries);
  out.at = device_array<std::uint32_t>(out.entries);
  out.mask = device_array<std::uint32_t>(out.entries);
  out.first_piece = device_array<std::int64_t>(out.entries);
  launch_each(out.pieces, write_entries, bits, out.pieces, out.panels, sorted.get(), entry_of.get(), at.get(),
              EntryArrays{out.panel_first.get(), out.k.get(), out.panel.get(), out.at.get(), out.mask.get(),
                          out.first_piece.get()});
  out.data = device_array<double>(2 * sixteens);
  if (source.norms != nullptr) out.norms = device_array<double>(out.pieces);
  if (out.pieces > 0) {
    copy_pieces<<<unsigned((out.pieces + copy_warps - 1) / copy_warps), 32 * copy_warps, 0, cuda::stream()>>>(
        s, bits, out.pieces, sorted.get(), sorted_readings.get(), at.get(), source.norms, out.data.get(),
        out.norms.get());
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
  }
  return out;
}

}  // namespace quadrille::block_dft
