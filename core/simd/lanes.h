// Vectors of lanes for code that the CPU's kernels and the devices' share: core/simd/simd.h, or, in CUDA sources and
// where QUADRILLE_SCALAR_LANES is defined, core/simd/simd_scalar.h, whose vectors have one lane.
#pragma once

#include "core/host_device.h"

#if defined(__CUDACC__) || defined(QUADRILLE_SCALAR_LANES)
#include "core/simd/simd_scalar.h"
#else
#include "core/simd/simd.h"
#endif
