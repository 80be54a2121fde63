// CUDA's vectors for host code without CUDA's headers.
#pragma once

#include <bit>

namespace quadrille::dirac {

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline double2 make_double2(double x, double y) { return {x, y}; }

}  // namespace quadrille::dirac
