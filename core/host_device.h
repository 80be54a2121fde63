// Functions that a host loop and a device kernel both run.
#pragma once

#ifdef __CUDACC__
#define QUADRILLE_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define QUADRILLE_HOST_DEVICE inline
#endif
