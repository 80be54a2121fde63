// The large/small split on the device. Where lines are contiguous a warp takes a segment of one, where they lie across
// what is stored a thread takes a line: either way neighbouring threads read neighbouring numbers, and large elements
// are placed by counting, so that their order is that of their positions in every run.
#include "core/backend/cuda/runtime.h"
#include "modules/shared/dense/cuda/magnitude_split.h"

namespace quadrille::cuda {
namespace {

constexpr int threads = 256;
constexpr int warps = threads / 32;
constexpr int segment = int(segment_length);
constexpr unsigned all_lanes = 0xffffffffu;
constexpr unsigned long long infinity_bits = 0x7ff0000000000000ull;

unsigned blocks_for(std::int64_t items, std::int64_t each) { return unsigned((items + each - 1) / each); }

void launched(const char* what) { check(cudaGetLastError(), what); }

__device__ __forceinline__ unsigned long long bits_of(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(x));
}

__device__ __forceinline__ bool is_large(double x, double delta) { return !(fabs(x) <= delta); }

/// The looks at what is there already spare most of the atomic operations.
__device__ __forceinline__ void raise(unsigned long long* most, unsigned long long value) {
  if (value > *static_cast<volatile unsigned long long*>(most)) atomicMax(most, value);
}
__device__ __forceinline__ void lower(unsigned long long* least, unsigned long long value) {
  if (value < *static_cast<volatile unsigned long long*>(least)) atomicMin(least, value);
}

__device__ __forceinline__ unsigned long long warp_max(unsigned long long value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const unsigned long long other = __shfl_xor_sync(all_lanes, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

__device__ __forceinline__ double warp_sum(double value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(all_lanes, value, distance);
  return value;
}

/// What one thread has seen.
struct Seen {
  unsigned long long largest = 0, first_bad = nowhere;
  double squares = 0, large_squares = 0;
  int large = 0;

  __device__ __forceinline__ void add(double x, double delta, std::int64_t place) {
    const double magnitude = fabs(x);
    const unsigned long long bits = bits_of(magnitude);
    largest = bits > largest ? bits : largest;
    if (bits >= infinity_bits && static_cast<unsigned long long>(place) < first_bad) first_bad = place;
    const bool small = magnitude <= delta;
    const double square = magnitude * magnitude;
    squares += small ? square : 0.0;
    large_squares += small ? 0.0 : square;
    large += small ? 0 : 1;
  }
};

/// All threads of a block call this.
__device__ __forceinline__ void report(const Seen& seen, SplitTotals* totals) {
  __shared__ unsigned long long of_warps[warps];
  const unsigned long long of_warp = warp_max(seen.largest);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = of_warp;
  __syncthreads();
  if (threadIdx.x < 32) {
    const unsigned long long most = warp_max(threadIdx.x < warps ? of_warps[threadIdx.x] : 0);
    if (threadIdx.x == 0) raise(&totals->largest_bits, most);
  }
  if (seen.first_bad != nowhere) lower(&totals->first_bad, seen.first_bad);
}

__global__ void __launch_bounds__(threads)
    analyse_contiguous(const Lines lines, std::int64_t segments, double delta, const LineCounts counts) {
  const std::int64_t item = std::int64_t(blockIdx.x) * warps + threadIdx.x / 32;
  const int lane = int(threadIdx.x % 32);
  Seen seen;
  if (item < lines.count * segments) {  // the same for all threads of a warp
    const std::int64_t line = item / segments, number = item - line * segments, begin = number * segment;
    const double* data = lines.data + line * lines.ld;
#pragma unroll
    for (int i = 0; i < segment; i += 32) {
      const std::int64_t l = begin + i + lane;
      if (l < lines.length) seen.add(data[l], delta, line * lines.length + l);
    }
    const double squares = warp_sum(seen.squares), large_squares = warp_sum(seen.large_squares);
    const int large = __reduce_add_sync(all_lanes, seen.large);
    if (lane == 0) {
      const std::int64_t place = number * lines.count + line;
      counts.in_segments[place] = large;
      counts.square_parts[place] = squares;
      counts.large_square_parts[place] = large_squares;
    }
  }
  report(seen, counts.totals);
}

__global__ void __launch_bounds__(threads)
    analyse_across(const Lines lines, std::int64_t line_blocks, double delta, const LineCounts counts) {
  const std::int64_t number = blockIdx.x / line_blocks;
  const std::int64_t line = (blockIdx.x - number * line_blocks) * threads + threadIdx.x;
  const std::int64_t begin = number * segment, left = lines.length - begin;
  const int length = left < segment ? int(left) : segment;
  Seen seen;
  if (line < lines.count) {
    const double* data = lines.data + begin * lines.ld + line;
#pragma unroll 8
    for (int i = 0; i < length; ++i) seen.add(data[i * lines.ld], delta, (begin + i) * lines.count + line);
    counts.in_segments[number * lines.count + line] = seen.large;
    counts.square_parts[number * lines.count + line] = seen.squares;
    counts.large_square_parts[number * lines.count + line] = seen.large_squares;
  }
  report(seen, counts.totals);
}

/// Counts of segments become those of the segments before; a thread takes a line.
__global__ void __launch_bounds__(threads)
    finish_lines(std::int64_t lines, std::int64_t segments, const LineCounts counts) {
  const std::int64_t line = std::int64_t(blockIdx.x) * threads + threadIdx.x;
  int large = 0;
  double squares = 0, large_squares = 0;
  if (line < lines) {
    for (std::int64_t number = 0; number < segments; ++number) {
      const std::int64_t place = number * lines + line;
      const int here = counts.in_segments[place];
      counts.in_segments[place] = large;
      large += here;
      squares += counts.square_parts[place];
      large_squares += counts.large_square_parts[place];
    }
    counts.in_lines[line] = large;
    counts.squares[line] = squares;
  }
  const unsigned long long most_squares = warp_max(bits_of(squares)), most_large = warp_max(large);
  const unsigned long long most_all = warp_max(bits_of(squares + large_squares));
  if (threadIdx.x % 32 != 0) return;
  raise(&counts.totals->small_square_bits, most_squares);
  raise(&counts.totals->all_square_bits, most_all);
  raise(&counts.totals->most_large, most_large);
}

constexpr int scan_threads = 1024;

/// One block: offsets of lines, and their end.
__global__ void __launch_bounds__(scan_threads) scan_lines(std::int64_t lines, const LineCounts counts) {
  __shared__ std::int64_t of_warps[32];
  const int lane = int(threadIdx.x % 32), warp = int(threadIdx.x / 32);
  std::int64_t before = 0;
  for (std::int64_t begin = 0; begin < lines; begin += scan_threads) {
    const std::int64_t line = begin + threadIdx.x;
    const std::int64_t mine = line < lines ? counts.in_lines[line] : 0;
    std::int64_t sum = mine;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const std::int64_t other = __shfl_up_sync(all_lanes, sum, distance);
      if (lane >= distance) sum += other;
    }
    if (lane == 31) of_warps[warp] = sum;
    __syncthreads();
    std::int64_t warps_before = 0, all = 0;
#pragma unroll
    for (int w = 0; w < 32; ++w) {
      warps_before += w < warp ? of_warps[w] : 0;
      all += of_warps[w];
    }
    if (line < lines) counts.offsets[line] = before + warps_before + sum - mine;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    counts.offsets[lines] = before;
    counts.totals->large = static_cast<unsigned long long>(before);
  }
}

/// No parts at all.
struct NoParts {
  using Element = std::int8_t;
  static constexpr int parts = 0;
};

template <class Parts>
__device__ __forceinline__ std::int64_t first_of_part(const PartsPlace& to, std::int64_t line, int part) {
  const int place = to.reversed ? Parts::parts - 1 - part : part;
  return (line * Parts::parts + place) * to.padded;
}

template <class Parts>
__global__ void __launch_bounds__(threads)
    convert_contiguous(const Lines lines, std::int64_t segments, double delta, const PartsPlace to,
                       const LineCounts counts, const LargeList large) {
  using Element = typename Parts::Element;
  const std::int64_t item = std::int64_t(blockIdx.x) * warps + threadIdx.x / 32;
  const int lane = int(threadIdx.x % 32);
  if (item >= lines.count * segments) return;
  const std::int64_t line = item / segments, number = item - line * segments, begin = number * segment;
  const double* data = lines.data + line * lines.ld;
  double numbers[segment / 32];
#pragma unroll
  for (int i = 0; i < segment / 32; ++i) {
    const std::int64_t l = begin + 32 * i + lane;
    numbers[i] = l < lines.length ? data[l] : 0.0;
  }
  std::int64_t place = counts.offsets[line] + counts.in_segments[number * lines.count + line];
#pragma unroll
  for (int i = 0; i < segment / 32; ++i) {
    const std::int64_t l = begin + 32 * i + lane;
    const bool here = is_large(numbers[i], delta);
    const unsigned which = __ballot_sync(all_lanes, here);
    if (here) {
      const std::int64_t at = place + __popc(which & ((1u << lane) - 1));
      large.positions[at] = std::int32_t(l);
      large.values[at] = numbers[i];
    }
    place += __popc(which);
    if constexpr (Parts::parts > 0) {
      Element parts[Parts::parts];
      Parts::encode(here ? 0.0 : numbers[i] * to.inverse_unit, parts);
#pragma unroll
      for (int r = 0; r < Parts::parts; ++r) {
        if (l < to.padded) static_cast<Element*>(to.data)[first_of_part<Parts>(to, line, r) + l] = parts[r];
      }
    }
  }
}

/// Lines and positions of a tile that is turned in shared memory.
constexpr int turned = 64;
/// Positions that one thread has of its line.
constexpr int run = turned / (threads / turned);

/// A block takes a segment of `turned` lines; a thread one line, and of each tile `run` positions.
template <class Parts>
__global__ void __launch_bounds__(threads)
    convert_across(const Lines lines, std::int64_t line_blocks, double delta, const PartsPlace to,
                   const LineCounts counts, const LargeList large) {
  using Element = typename Parts::Element;
  constexpr int bytes = int(sizeof(Element)), row_words = turned * bytes / 4;
  // An odd number of words, so that threads of neighbouring lines meet different banks.
  constexpr int row = (row_words + 1) * 4 / bytes;
  __shared__ __align__(16) Element tile[Parts::parts > 0 ? Parts::parts : 1][Parts::parts > 0 ? turned : 1][row];
  __shared__ int counted[threads / turned][turned];
  const std::int64_t number = blockIdx.x / line_blocks;
  const std::int64_t first_line = (blockIdx.x - number * line_blocks) * turned;
  const int p = int(threadIdx.x % turned), group = int(threadIdx.x / turned);
  const std::int64_t line = first_line + p;
  const bool exists = line < lines.count;
  std::int64_t place = exists ? counts.offsets[line] + counts.in_segments[number * lines.count + line] : 0;
  for (int step = 0; step < segment / turned; ++step) {
    const std::int64_t begin = number * segment + step * turned;
    if (begin >= to.padded) break;  // the same for all threads
    double numbers[run];
    int mine = 0;
#pragma unroll
    for (int i = 0; i < run; ++i) {
      const std::int64_t l = begin + group * run + i;
      numbers[i] = exists && l < lines.length ? lines.data[l * lines.ld + line] : 0.0;
    }
#pragma unroll
    for (int i = 0; i < run; ++i) mine += is_large(numbers[i], delta) ? 1 : 0;
    counted[group][p] = mine;
    __syncthreads();
    int before = 0, all = 0;
#pragma unroll
    for (int g = 0; g < threads / turned; ++g) {
      before += g < group ? counted[g][p] : 0;
      all += counted[g][p];
    }
    std::int64_t at = place + before;
    place += all;
#pragma unroll
    for (int i = 0; i < run; ++i) {
      const bool here = is_large(numbers[i], delta);
      if (here) {
        large.positions[at] = std::int32_t(begin + group * run + i);
        large.values[at] = numbers[i];
        ++at;
      }
      if constexpr (Parts::parts > 0) {
        Element parts[Parts::parts];
        Parts::encode(here ? 0.0 : numbers[i] * to.inverse_unit, parts);
#pragma unroll
        for (int r = 0; r < Parts::parts; ++r) tile[r][p][group * run + i] = parts[r];
      }
    }
    __syncthreads();
    if constexpr (Parts::parts > 0) {
      for (int r = 0; r < Parts::parts; ++r) {
        for (int word = int(threadIdx.x); word < turned * row_words; word += threads) {
          const int q = word / row_words, at_word = word % row_words;
          if (first_line + q >= lines.count) continue;
          const unsigned value = reinterpret_cast<const unsigned*>(&tile[r][q][0])[at_word];
          Element* out = static_cast<Element*>(to.data) + first_of_part<Parts>(to, first_line + q, r) + begin;
          reinterpret_cast<unsigned*>(out)[at_word] = value;
        }
      }
      __syncthreads();
    }
  }
}

__global__ void __launch_bounds__(threads)
    tabulate(std::int64_t lines, std::int64_t line_blocks, const LineCounts counts, const LargeList large,
             const double* deltas, CutoffExtremes* extremes) {
  const std::int64_t number = blockIdx.x / line_blocks;
  const std::int64_t line = (blockIdx.x - number * line_blocks) * threads + threadIdx.x;
  const double delta = deltas[number];
  double small = 0, beyond = 0;
  unsigned long long above = 0;
  if (line < lines) {
    small = counts.squares[line];
    for (std::int64_t e = counts.offsets[line]; e < counts.offsets[line + 1]; ++e) {
      const double x = fabs(large.values[e]);
      (x <= delta ? small : beyond) += x * x;
      above += x <= delta ? 0 : 1;
    }
  }
  const unsigned long long most_small = warp_max(bits_of(small)), most_all = warp_max(bits_of(small + beyond));
  const unsigned long long most_large = warp_max(above);
  CutoffExtremes& to = extremes[number];
  if (above > 0) atomicAdd(&to.large, above);
  if (threadIdx.x % 32 != 0) return;
  raise(&to.small_square_bits, most_small);
  raise(&to.all_square_bits, most_all);
  raise(&to.most_large, most_large);
}

__global__ void __launch_bounds__(threads)
    sample(const Lines lines, std::int64_t step, std::int64_t count, double* magnitudes) {
  const std::int64_t i = std::int64_t(blockIdx.x) * threads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t stored = lines.contiguous ? lines.length : lines.count, place = sampled_place(i, step);
  const std::int64_t row = place / stored;
  magnitudes[i] = fabs(lines.data[row * lines.ld + (place - row * stored)]);
}

template <class Parts>
void convert_as(const Lines& lines, double delta, const PartsPlace& to, const LineCounts& counts,
                const LargeList& large) {
  // Segments reach to the end of the padding, which lies in the last one.
  const std::int64_t segments = segments_of(lines);
  if (lines.contiguous) {
    convert_contiguous<Parts><<<blocks_for(lines.count * segments, warps), threads, 0, stream()>>>(
        lines, segments, delta, to, counts, large);
  } else {
    const std::int64_t line_blocks = blocks_for(lines.count, turned);
    convert_across<Parts>
        <<<unsigned(line_blocks * segments), threads, 0, stream()>>>(lines, line_blocks, delta, to, counts, large);
  }
  launched("the launch of a conversion into parts");
}

}  // namespace

void analyse_lines(const Lines& lines, double delta, const LineCounts& counts) {
  const std::int64_t segments = segments_of(lines);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(counts.totals, 0, sizeof(SplitTotals), stream()));
  QUADRILLE_CUDA_CHECK(
      cudaMemsetAsync(&counts.totals->first_bad, 0xff, sizeof(counts.totals->first_bad), stream()));  // nowhere
  if (lines.contiguous) {
    analyse_contiguous<<<blocks_for(lines.count * segments, warps), threads, 0, stream()>>>(lines, segments, delta,
                                                                                            counts);
  } else {
    const std::int64_t line_blocks = blocks_for(lines.count, threads);
    analyse_across<<<unsigned(line_blocks * segments), threads, 0, stream()>>>(lines, line_blocks, delta, counts);
  }
  launched("the launch of an analysis");
  finish_lines<<<blocks_for(lines.count, threads), threads, 0, stream()>>>(lines.count, segments, counts);
  launched("the launch of finish_lines");
  scan_lines<<<1, scan_threads, 0, stream()>>>(lines.count, counts);
  launched("the launch of scan_lines");
}

void convert_lines(const Lines& lines, double delta, NarrowParts format, const PartsPlace& to, const LineCounts& counts,
                   const LargeList& large) {
  using namespace narrow;
  const auto with = [&](auto parts) { convert_as<decltype(parts)>(lines, delta, to, counts, large); };
  switch (format) {
    case NarrowParts::none: with(NoParts{}); break;
    case NarrowParts::single: with(FloatParts<SingleFormat, 1>{}); break;
    case NarrowParts::half2: with(FloatParts<HalfFormat, 2>{}); break;
    case NarrowParts::digits3: with(Digits<3>{}); break;
    case NarrowParts::digits4: with(Digits<4>{}); break;
    case NarrowParts::digits5: with(Digits<5>{}); break;
    case NarrowParts::digits6: with(Digits<6>{}); break;
  }
}

void tabulate_cutoffs(std::int64_t lines, const LineCounts& counts, const LargeList& large, const double* deltas,
                      std::int64_t count, CutoffExtremes* extremes) {
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(extremes, 0, std::size_t(count) * sizeof(CutoffExtremes), stream()));
  const std::int64_t line_blocks = blocks_for(lines, threads);
  tabulate<<<unsigned(line_blocks * count), threads, 0, stream()>>>(lines, line_blocks, counts, large, deltas,
                                                                    extremes);
  launched("the launch of a table of cutoffs");
}

void sample_magnitudes(const Lines& lines, std::int64_t step, std::int64_t count, double* magnitudes) {
  sample<<<blocks_for(count, threads), threads, 0, stream()>>>(lines, step, count, magnitudes);
  launched("the launch of a sample");
}

}  // namespace quadrille::cuda
