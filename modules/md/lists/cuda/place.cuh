// Where a particle is, as kernels of neighbour lists read it.
#pragma once

#include "modules/md/lists/cuda/list_kernels.h"

namespace quadrille::md {

__device__ __forceinline__ Place<float> placed(float, const DeviceBox& box, const double (&x)[3]) {
  return {std::int32_t(fraction_of(x[0], box.inverse_units[0])), std::int32_t(fraction_of(x[1], box.inverse_units[1])),
          std::int32_t(fraction_of(x[2], box.inverse_units[2])), 0};
}

__device__ __forceinline__ Place<double> placed(double, const DeviceBox& box, const double (&x)[3]) {
  double inside[3];
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    inside[k] = __dsub_rn(x[k], __dmul_rn(box.edges[k], floor(__ddiv_rn(x[k], box.edges[k]))));
  }
  return {inside[0], inside[1], inside[2], 0};
}

}  // namespace quadrille::md
