// One site of a field in the grouped layout, read and written in whole groups.
#pragma once

#include "core/layout/grouped_layout.h"
#include "core/numbers/half_words.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace quadrille::cuda {

/// The words of 32 bits of a site with `sections` sections of `section_words` words.
template <int sections, int section_words>
struct GroupedWords {
  using Places = GroupedPlaces<sections, section_words>;
  static constexpr int whole_groups = Places::whole_groups, left = Places::left;
  static_assert(left != 3);

  /// The group g of section s of a site, which is of `width` words.
  template <int width>
  static __device__ __forceinline__ unsigned* group(void* numbers, std::int64_t site, int s, int g) {
    return static_cast<unsigned*>(numbers) + Places::template start<width>(site) + Places::group(s, g);
  }

  static __device__ __forceinline__ void load(const void* numbers, std::int64_t site, unsigned* words) {
    void* const from = const_cast<void*>(numbers);
#pragma unroll
    for (int s = 0; s < sections; ++s) {
#pragma unroll
      for (int g = 0; g < whole_groups; ++g) {
        const uint4 four = *reinterpret_cast<const uint4*>(group<4>(from, site, s, g));
        unsigned* const to = words + s * section_words + 4 * g;
        to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
      }
      if constexpr (left == 2) {
        const uint2 two = *reinterpret_cast<const uint2*>(group<2>(from, site, s, whole_groups));
        unsigned* const to = words + s * section_words + 4 * whole_groups;
        to[0] = two.x, to[1] = two.y;
      }
      if constexpr (left == 1) {
        words[s * section_words + 4 * whole_groups] = *group<1>(from, site, s, whole_groups);
      }
    }
  }

  static __device__ __forceinline__ void store(void* numbers, std::int64_t site, const unsigned* words) {
#pragma unroll
    for (int s = 0; s < sections; ++s) {
#pragma unroll
      for (int g = 0; g < whole_groups; ++g) {
        const unsigned* const from = words + s * section_words + 4 * g;
        *reinterpret_cast<uint4*>(group<4>(numbers, site, s, g)) = make_uint4(from[0], from[1], from[2], from[3]);
      }
      const unsigned* const from = words + s * section_words + 4 * whole_groups;
      if constexpr (left == 2) {
        *reinterpret_cast<uint2*>(group<2>(numbers, site, s, whole_groups)) = make_uint2(from[0], from[1]);
      }
      if constexpr (left == 1) *group<1>(numbers, site, s, whole_groups) = from[0];
    }
  }
};

/// Access to all numbers of a site (core/field/site_transfer.h), `sections` times `section` of them; spinors in half
/// precision have a norm a site.
template <class NumberType, int sections, int section>
struct GroupedAccess {
  using Number = NumberType;
  static constexpr bool in_half = std::is_same_v<Number, std::int16_t>;
  static constexpr int words_of_number = int(sizeof(Number)) / 4;  // 0: two numbers to a word
  static constexpr int section_words = section * int(sizeof(Number)) / 4;
  static constexpr int components = sections * section, count = sections * section_words;
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;
  using Words = GroupedWords<sections, section_words>;

  void* numbers;
  float* norms;

  __device__ __forceinline__ void load(std::int64_t site, Real* out) const {
    unsigned words[count];
    Words::load(numbers, site, words);
    const Real quantum = in_half ? Real(norms[site] * (1.0f / 32767.0f)) : Real(1);
#pragma unroll
    for (int c = 0; c < components; ++c) {
      if constexpr (in_half) {
        out[c] = (c % 2 == 0 ? half::whole<0>(words[c / 2]) : half::whole<1>(words[c / 2])) * quantum;
      } else if constexpr (words_of_number == 2) {
        out[c] = __hiloint2double(int(words[2 * c + 1]), int(words[2 * c]));
      } else {
        out[c] = __uint_as_float(words[c]);
      }
    }
  }

  __device__ __forceinline__ void store(std::int64_t site, const Real* in) const {
    unsigned words[count];
    if constexpr (in_half) {
      float norm = 0;
#pragma unroll
      for (int c = 0; c < components; ++c) norm = half::largest(norm, in[c]);
      const float quanta = half::quanta_of(norm);
      norms[site] = norm;
#pragma unroll
      for (int k = 0; k < count; ++k)
        words[k] = half::packed(half::rounded(in[2 * k], quanta), half::rounded(in[2 * k + 1], quanta));
    } else {
#pragma unroll
      for (int c = 0; c < components; ++c) {
        if constexpr (words_of_number == 2) {
          words[2 * c] = unsigned(__double2loint(in[c]));
          words[2 * c + 1] = unsigned(__double2hiint(in[c]));
        } else {
          words[c] = __float_as_uint(in[c]);
        }
      }
    }
    Words::store(numbers, site, words);
  }
};

/// Spinors, in sections of two spins.
template <class Number>
using SpinorAccess = GroupedAccess<Number, 2, 12>;

}  // namespace quadrille::cuda
