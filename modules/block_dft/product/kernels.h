// How stacks of small products reach the kernels of each instruction set: plain data only.
#pragma once

#include "core/simd/of_isa.h"

#include <cstdint>

namespace quadrille::block_dft {

/// The factors of one product: A is m x k, B k x n, both row by row.
template <class T>
struct Factors {
  const T* a;
  const T* b;
  std::int32_t k;
};

/// C += the sum over `count` products A B, in their order; C is m x n, row by row. An element of C is read once, gets
/// its terms one after the other in ascending product and k, and is written: splitting a run leaves the bits as they
/// are.
template <class T>
using RunKernel = void (*)(const Factors<T>* factors, std::int64_t count, std::int32_t m, std::int32_t n, T* c);

QUADRILLE_DECLARE_FOR_ISAS(template <class T> RunKernel<T>, find_run_kernel, ())

}  // namespace quadrille::block_dft
