// Functions that a host loop and a device kernel both run.
#pragma once

#ifdef __CUDACC__
#define QUADRILLE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define QUADRILLE_HOST_DEVICE inline
#endif

/// Before a loop whose index must be known when the code is compiled, or arrays that it indexes would lie in memory.
#ifdef __CUDA_ARCH__
#define QUADRILLE_UNROLL _Pragma("unroll")
#else
#define QUADRILLE_UNROLL
#endif
