// One site of a field in the grouped layout, read and written in whole groups.
#pragma once

#include "core/half.h"

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace quadrille::cuda {

template <class Number>
struct GroupOf;
template <>
struct GroupOf<double> {
  using type = double2;
};
template <>
struct GroupOf<float> {
  using type = float4;
};
template <>
struct GroupOf<std::int16_t> {
  using type = short4;
};

/// Access to all `components` numbers of a site (core/site_transfer.h); half precision has a norm a site.
template <class Number, int components>
struct GroupedAccess {
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;
  using Group = typename GroupOf<Number>::type;
  static constexpr int width = int(sizeof(Group) / sizeof(Number));
  static constexpr int groups = components / width;
  static_assert(components % width == 0);

  Group* numbers;
  float* norms;
  std::int64_t stride;

  __device__ __forceinline__ void load(std::int64_t site, Real* out) const {
    Number raw[components];
    for (int g = 0; g < groups; ++g) {
      const Group group = numbers[g * stride + site];
      raw[g * width] = group.x;
      raw[g * width + 1] = group.y;
      if constexpr (width == 4) {
        raw[g * width + 2] = group.z;
        raw[g * width + 3] = group.w;
      }
    }
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      const float n = norms[site];
      for (int c = 0; c < components; ++c) out[c] = half::restore(raw[c], n);
    } else {
      for (int c = 0; c < components; ++c) out[c] = raw[c];
    }
  }

  __device__ __forceinline__ void store(std::int64_t site, const Real* in) const {
    Number raw[components];
    if constexpr (std::is_same_v<Number, std::int16_t>) {
      const float n = half::norm(in, components);
      const float scale = half::scale(n);
      norms[site] = n;
      for (int c = 0; c < components; ++c) raw[c] = half::quantize(in[c], scale);
    } else {
      for (int c = 0; c < components; ++c) raw[c] = in[c];
    }
    for (int g = 0; g < groups; ++g) {
      Group group;
      group.x = raw[g * width];
      group.y = raw[g * width + 1];
      if constexpr (width == 4) {
        group.z = raw[g * width + 2];
        group.w = raw[g * width + 3];
      }
      numbers[g * stride + site] = group;
    }
  }
};

}  // namespace quadrille::cuda
