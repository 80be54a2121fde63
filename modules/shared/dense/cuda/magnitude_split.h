// The large/small split of mixed-precision products (modules/shared/dense/magnitude_split.h) on the device: what the
// host's code calls. Everything runs on the backend's stream; nothing here waits.
#pragma once

#include "core/api.h"
#include "core/host_device.h"
#include "modules/shared/dense/narrow_parts.h"

#include <cstdint>

namespace quadrille::cuda {

/// A factor of a product as the lines that are multiplied: rows of the left factor, columns of the right one. Element l
/// of line p is data[p ld + l] where lines are contiguous, data[l ld + p] where they lie across what is stored.
struct Lines {
  const double* data;
  std::int64_t count, length, ld;
  bool contiguous;
};

/// Lines are worked on in segments of this many elements.
constexpr std::int64_t segment_length = 256;
inline std::int64_t segments_of(const Lines& lines) { return (lines.length + segment_length - 1) / segment_length; }

constexpr unsigned long long nowhere = ~0ull;

/// Of all lines together, for the cutoff of the analysis. Doubles that are not negative are kept as their bits, whose
/// order is that of the numbers.
struct SplitTotals {
  unsigned long long largest_bits;       ///< of a magnitude; from that of infinity on: something is not finite
  unsigned long long first_bad;          ///< place in storage (line ld + position, without gaps) of the first such
  unsigned long long large;              ///< elements above the cutoff, or not finite
  unsigned long long small_square_bits;  ///< largest sum of squares of a line's small elements
  unsigned long long all_square_bits;    ///< and of all its elements
  unsigned long long most_large;         ///< in one line
};

/// What the analysis of lines leaves, in the device's memory, and what the conversion needs to place large elements.
struct LineCounts {
  std::int32_t* in_segments;   ///< [segment][line]: large elements of the line in the segments before
  double* square_parts;        ///< [segment][line]: sum of squares of the segment's small elements
  double* large_square_parts;  ///< [segment][line]: of its large elements
  double* squares;             ///< [line]: of the line's small elements
  std::int32_t* in_lines;      ///< [line]: large elements
  std::int64_t* offsets;       ///< [line], and one more: large elements in the lines before
  SplitTotals* totals;
};

/// One pass over the lines. Overwrites everything of `counts`. Sums are in a fixed order.
QUADRILLE_API void analyse_lines(const Lines& lines, double delta, const LineCounts& counts);

/// Large elements of lines: those of line p are [offsets[p], offsets[p + 1]), by position.
struct LargeList {
  std::int32_t* positions;
  double* values;
};

/// How numbers are held in parts (modules/shared/dense/narrow_parts.h); `none` writes the list only.
enum class NarrowParts { none, single, half2, digits3, digits4, digits5, digits6 };

/// Where parts go: part r of element l of line p is element (p parts + place) padded + l, place = r, or parts - 1 - r
/// if `reversed`. `padded` is a multiple of 64 and at least the length of a line; what lies beyond is zero.
struct PartsPlace {
  void* data;
  std::int64_t padded;
  bool reversed;
  double inverse_unit;  ///< a power of two: the parts are of `inverse_unit` times the element
};

/// One pass: parts of the small elements, zero in place of the large ones, which are listed. `counts` is of an analysis
/// with the same cutoff, the elements are finite.
QUADRILLE_API void convert_lines(const Lines& lines, double delta, NarrowParts format, const PartsPlace& to,
                                 const LineCounts& counts, const LargeList& large);

/// What a larger cutoff would give: a list with the cutoff of the analysis tells.
struct CutoffExtremes {
  unsigned long long small_square_bits, all_square_bits;  ///< largest sums of squares of a line
  unsigned long long large, most_large;                   ///< above the cutoff: in all, and in one line
};
/// Overwrites extremes[0..count), in the device's memory, for the cutoffs deltas[0..count), there too.
QUADRILLE_API void tabulate_cutoffs(std::int64_t lines, const LineCounts& counts, const LargeList& large,
                                    const double* deltas, std::int64_t count, CutoffExtremes* extremes);

/// The place of sample i among the elements [i step, (i + 1) step): one of no pattern, as even distances would fall on
/// a diagonal, or on one row, of some matrices. The mixing is that of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
QUADRILLE_HOST_DEVICE std::int64_t sampled_place(std::int64_t i, std::int64_t step) {
  std::uint64_t x = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return i * step + static_cast<std::int64_t>(x % static_cast<std::uint64_t>(step));
}

/// magnitudes[i] = |element sampled_place(i, step)| in storage order without gaps, i in [0, count), in the device's
/// memory. There are at least count step elements.
QUADRILLE_API void sample_magnitudes(const Lines& lines, std::int64_t step, std::int64_t count, double* magnitudes);

}  // namespace quadrille::cuda
