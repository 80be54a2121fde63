#include "modules/block_dft/product/cuda/packed_factor.h"

#include "core/system/memory.h"
#include "modules/block_dft/matrix/cuda/launch.cuh"

#include <cub/device/device_radix_sort.cuh>

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
  const std::int32_t *outer_first, *inner_first, *inner_end;
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
    outer_is_column = s.outer_is_column != mirror;
    outer = outer_is_column ? j : i;
    inner = outer_is_column ? i : j;
    const bool stored = !mirror || (s.mirrors && i != j);                // else `outer` may be beyond the last block
    exists = stored && s.outer_first[outer] < s.outer_first[outer + 1];  // its block has pieces
  }
};

__global__ void count_pieces(SourceView s, std::int64_t* counts, std::int32_t* outer_blocks,
                             std::int32_t* outer_elements) {
  const std::int64_t number = thread_number();
  if (number >= 2 * s.matrix.blocks) return;
  const Reading reading(s, number);
  counts[number] = 0;
  if (!reading.exists) return;
  counts[number] = std::int64_t(s.outer_first[reading.outer + 1] - s.outer_first[reading.outer]) *
                   (s.inner_end[reading.inner] - s.inner_first[reading.inner]);
  // Of integers: any order gives the same.
  atomicAdd(outer_blocks + reading.outer, 1);
  const std::int64_t elements = s.matrix.at[reading.slot + 1] - s.matrix.at[reading.slot];
  atomicAdd(outer_elements + reading.outer, std::int32_t(elements / s.outer[s.outer_first[reading.outer]].whole));
}

__global__ void write_keys(SourceView s, KeyBits bits, const std::int64_t* before, std::uint64_t* keys,
                           std::uint32_t* readings) {
  const std::int64_t number = thread_number();
  if (number >= 2 * s.matrix.blocks) return;
  const Reading reading(s, number);
  if (!reading.exists) return;
  std::int64_t next = before[number];
  for (std::int32_t o = s.outer_first[reading.outer]; o < s.outer_first[reading.outer + 1]; ++o) {
    for (std::int32_t k = s.inner_first[reading.inner]; k < s.inner_end[reading.inner]; ++k) {
      keys[next] = bits.key(o / s.width, k, o % s.width);
      readings[next++] = std::uint32_t(number);
    }
  }
}

template <class T>
__device__ __forceinline__ int padded(int size) {
  constexpr int part = PackedNumbers<T>::of_sixteen;
  return (size + part - 1) / part * part;
}

__global__ void mark_entries(KeyBits bits, std::int64_t pieces, const std::uint64_t* keys, std::int64_t* begins_entry) {
  const std::int64_t p = thread_number();
  if (p < pieces) begins_entry[p] = p == 0 || (keys[p] >> bits.width) != (keys[p - 1] >> bits.width) ? 1 : 0;
}

template <class T>
__global__ void measure_pieces(SourceView s, KeyBits bits, std::int64_t pieces, const std::uint64_t* keys,
                               std::int64_t* sixteens) {
  const std::int64_t p = thread_number();
  if (p >= pieces) return;
  const Piece outer = s.outer[bits.panel(keys[p]) * s.width + bits.place(keys[p])];
  sixteens[p] = std::int64_t(outer.size) * (padded<T>(s.inner[bits.k(keys[p])].size) / PackedNumbers<T>::of_sixteen);
}

/// The part of each piece.
__global__ void find_parts(KeyBits bits, std::int64_t pieces, const std::uint64_t* keys, const std::uint32_t* of_inner,
                           std::uint32_t* part, std::int64_t* number) {
  const std::int64_t p = thread_number();
  if (p >= pieces) return;
  part[p] = of_inner[bits.k(keys[p])];
  number[p] = p;
}

__global__ void take_from(std::int64_t count, const std::int64_t* place, const std::int64_t* from, std::int64_t* to) {
  const std::int64_t p = thread_number();
  if (p < count) to[p] = from[place[p]];
}

__global__ void put_to(std::int64_t count, const std::int64_t* place, const std::int64_t* from, std::int64_t* to) {
  const std::int64_t p = thread_number();
  if (p < count) to[place[p]] = from[p];
}

/// Where parts begin among sorted pieces: at[part + 1].
__global__ void begin_parts(std::int64_t pieces, int parts, const std::uint32_t* part, const std::int64_t* sixteens,
                            std::int64_t* at) {
  const std::int64_t p = thread_number();
  if (p > pieces) return;
  const int before = p == 0 ? -1 : int(part[p - 1]), here = p == pieces ? parts : int(part[p]);
  for (int begun = before + 1; begun <= here; ++begun) at[begun] = sixteens[p];
}

/// Where entries begin in their parts: where their first pieces do.
__global__ void place_entries(std::int64_t entries, const std::int64_t* first_piece, const std::int64_t* of_piece,
                              const std::int32_t* k, const std::uint32_t* part_of_inner, const std::int64_t* part_at,
                              std::uint32_t* at) {
  const std::int64_t entry = thread_number();
  if (entry >= entries) return;
  const std::int64_t begin = part_of_inner != nullptr ? part_at[part_of_inner[k[entry]]] : 0;
  at[entry] = std::uint32_t(of_piece[first_piece[entry]] - begin);
}

__global__ void copy_norms(std::int64_t pieces, const std::uint32_t* readings, const double* of_slot, double* norms) {
  const std::int64_t p = thread_number();
  if (p < pieces) norms[p] = of_slot[readings[p] / 2];
}

struct EntryArrays {
  std::int64_t* panel_first;
  std::int32_t *k, *panel;
  std::uint32_t* mask;
  std::int64_t* first_piece;
};

/// `entry_of`: of each piece, counted from its beginning. The thread of an entry's first piece writes it, and where
/// panels begin.
__global__ void write_entries(KeyBits bits, std::int64_t pieces, std::int32_t panels, const std::uint64_t* keys,
                              const std::int64_t* entry_of, EntryArrays out) {
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
  out.mask[entry] = mask;
  out.first_piece[entry] = p;
  const std::int32_t before = p == 0 ? -1 : bits.panel(keys[p - 1]);
  for (std::int32_t begun = before + 1; begun <= panel; ++begun) out.panel_first[begun] = entry;
  if (entry_of[p + 1] != entry_of[pieces]) return;
  for (std::int32_t rest = panel + 1; rest <= panels; ++rest) out.panel_first[rest] = entry + 1;
}

constexpr int copy_warps = 4, copied = 32;  ///< the latter: outer rows at a time
static_assert(most_inner <= copied);

/// TF32 of a single: the nearest number with 10 bits behind the leading one.
template <class T>
__device__ __forceinline__ T rounded(double number) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return number;
  } else {
    std::uint32_t bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(float(number)));
    return __uint_as_float(bits);
  }
}

/// Where the elements of all outer rows at one inner element are in a piece.
struct PlaceInPiece {
  int first, stride;

  __device__ PlaceInPiece(int k, int length, int rows) {
    const int group = k / 8 * 8, elements = min(8, length - group), inside = k - group;
    const bool halves = elements > 4;
    stride = halves ? elements / 2 : elements;
    first = group * rows + (halves ? inside % 2 * stride * rows + inside / 2 : inside);
  }
};

/// A warp takes a piece; one that is read across its rows is turned in shared memory.
template <class T>
__global__ void __launch_bounds__(32 * copy_warps)
    copy_pieces(SourceView s, KeyBits bits, std::int64_t pieces, const std::uint64_t* keys,
                const std::uint32_t* readings, const std::int64_t* sixteens, T* data) {
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
  const int length = padded<T>(inner.size);
  const PlaceInPiece place(lane, length, outer.size);
  T* to = data + PackedNumbers<T>::of_sixteen * sixteens[p];
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
      to[place.first + (begin + o) * place.stride] = rounded<T>(lane < inner.size ? sign * tile[lane][o] : 0.0);
    }
    __syncwarp();
  }
}

int bits_for(std::int64_t count) { return std::max(1, int(std::bit_width(std::uint64_t(count)))); }

template <class T>
DeviceArray<T> zeros(std::int64_t count) {
  auto out = device_array<T>(count);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(out.get(), 0, std::size_t(count) * sizeof(T), cuda::stream()));
  return out;
}

/// The pieces of a factor in order.
struct SortedPieces {
  KeyBits bits;
  std::int64_t count = 0;
  DeviceArray<std::uint64_t> keys;
  DeviceArray<std::uint32_t> readings;
};

SortedPieces sort_pieces(const SourceView& s, KeyBits bits, PackedFactor& out) {
  const std::int64_t blocks = s.matrix.blocks;
  auto before = zeros<std::int64_t>(2 * blocks + 1);
  launch_each(2 * blocks, count_pieces, s, before.get(), out.outer_blocks.get(), out.outer_elements.get());
  sum_before(before);
  SortedPieces sorted{bits, last_of(before), {}, {}};
  auto keys = device_array<std::uint64_t>(sorted.count);
  auto readings = device_array<std::uint32_t>(sorted.count);
  launch_each(2 * blocks, write_keys, s, bits, before.get(), keys.get(), readings.get());
  before.reset();
  sorted.keys = device_array<std::uint64_t>(sorted.count);
  sorted.readings = device_array<std::uint32_t>(sorted.count);
  with_cub_memory([&](void* memory, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(memory, bytes, keys.get(), sorted.keys.get(), readings.get(),
                                           sorted.readings.get(), sorted.count, 0,
                                           bits.inner + bits.width + bits_for(out.panels), cuda::stream());
  });
  return sorted;
}

/// Lengths of pieces become their places: part by part, and in a part as they are sorted. Gives where parts begin.
DeviceArray<std::int64_t> place_pieces(const SortedPieces& pieces, const InnerParts* parts,
                                       DeviceArray<std::int64_t>& lengths) {
  if (parts == nullptr) {
    sum_before(lengths);
    return {};
  }
  const std::int64_t count = pieces.count;
  auto part = device_array<std::uint32_t>(count), sorted_part = device_array<std::uint32_t>(count);
  auto number = device_array<std::int64_t>(count), order = device_array<std::int64_t>(count);
  launch_each(count, find_parts, pieces.bits, count, static_cast<const std::uint64_t*>(pieces.keys.get()),
              static_cast<const std::uint32_t*>(parts->of_piece.get()), part.get(), number.get());
  with_cub_memory([&](void* memory, std::size_t& bytes) {  // stable
    return cub::DeviceRadixSort::SortPairs(memory, bytes, part.get(), sorted_part.get(), number.get(), order.get(),
                                           count, 0, bits_for(parts->count), cuda::stream());
  });
  auto sorted = zeros<std::int64_t>(count + 1);
  launch_each(count, take_from, count, static_cast<const std::int64_t*>(order.get()),
              static_cast<const std::int64_t*>(lengths.get()), sorted.get());
  sum_before(sorted);
  auto part_at = device_array<std::int64_t>(parts->count + 1);
  launch_each(count + 1, begin_parts, count, parts->count, static_cast<const std::uint32_t*>(sorted_part.get()),
              static_cast<const std::int64_t*>(sorted.get()), part_at.get());
  launch_each(count, put_to, count, static_cast<const std::int64_t*>(order.get()),
              static_cast<const std::int64_t*>(sorted.get()), lengths.get());
  return part_at;
}

template <class T>
PackedNumbers<T> pack_numbers(const SourceView& s, const FactorSource& source, const SortedPieces& pieces,
                              const PackedFactor& factor) {
  const InnerParts* const parts = source.parts;
  auto of_piece = zeros<std::int64_t>(pieces.count + 1);
  launch_each(pieces.count, measure_pieces<T>, s, pieces.bits, pieces.count, pieces.keys.get(), of_piece.get());
  const DeviceArray<std::int64_t> part_at = place_pieces(pieces, parts, of_piece);
  PackedNumbers<T> out;
  out.part_at = parts != nullptr ? cuda::fetched(part_at.get(), part_at.count())
                                 : std::vector<std::int64_t>{0, last_of(of_piece)};
  for (std::size_t part = 0; part + 1 < out.part_at.size(); ++part) {
    const std::int64_t sixteens = out.part_at[part + 1] - out.part_at[part];
    if (sixteens <= std::numeric_limits<std::uint32_t>::max()) continue;
    throw NotEnoughMemory("a factor of " + std::to_string(16 * sixteens) +
                          " bytes: a product on a GPU takes factors of up to 64 GiB at a time");
  }
  out.at = device_array<std::uint32_t>(factor.entries);
  launch_each(factor.entries, place_entries, factor.entries, static_cast<const std::int64_t*>(factor.first_piece.get()),
              static_cast<const std::int64_t*>(of_piece.get()), static_cast<const std::int32_t*>(factor.k.get()),
              static_cast<const std::uint32_t*>(parts != nullptr ? parts->of_piece.get() : nullptr),
              static_cast<const std::int64_t*>(part_at.get()), out.at.get());
  if (!source.numbers) return out;
  out.data = device_array<T>(PackedNumbers<T>::of_sixteen * out.part_at.back());
  if (pieces.count > 0) {
    copy_pieces<T><<<unsigned((pieces.count + copy_warps - 1) / copy_warps), 32 * copy_warps, 0, cuda::stream()>>>(
        s, pieces.bits, pieces.count, pieces.keys.get(), pieces.readings.get(), of_piece.get(), out.data.get());
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
  }
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
                     source.inner.end.get(),
                     source.width};
  PackedFactor out;
  out.panels = (source.outer.count + source.width - 1) / source.width;
  out.outer_blocks = zeros<std::int32_t>(source.outer.blocks);
  out.outer_elements = zeros<std::int32_t>(source.outer.blocks);
  out.panel_first = zeros<std::int64_t>(out.panels + 1);
  const SortedPieces pieces = sort_pieces(s, {bits_for(source.inner.count), bits_for(source.width - 1)}, out);
  out.pieces = pieces.count;

  auto entry_of = zeros<std::int64_t>(out.pieces + 1);
  launch_each(out.pieces, mark_entries, pieces.bits, out.pieces, pieces.keys.get(), entry_of.get());
  sum_before(entry_of);
  out.entries = last_of(entry_of);
  out.k = device_array<std::int32_t>(out.entries);
  out.panel = device_array<std::int32_t>(out.entries);
  out.mask = device_array<std::uint32_t>(out.entries);
  out.first_piece = device_array<std::int64_t>(out.entries);
  launch_each(out.pieces, write_entries, pieces.bits, out.pieces, out.panels, pieces.keys.get(), entry_of.get(),
              EntryArrays{out.panel_first.get(), out.k.get(), out.panel.get(), out.mask.get(), out.first_piece.get()});
  if (source.norms != nullptr) {
    out.norms = device_array<double>(out.pieces);
    launch_each(out.pieces, copy_norms, out.pieces, pieces.readings.get(), source.norms, out.norms.get());
  }
  out.full = pack_numbers<double>(s, source, pieces, out);
  if (source.single) out.single = pack_numbers<float>(s, source, pieces, out);
  return out;
}

}  // namespace quadrille::block_dft
