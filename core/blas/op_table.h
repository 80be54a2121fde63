// The table of fused operations and how the dispatcher (blas.cpp) reaches the kernels of each instruction set.
#pragma once

#include "core/numbers/precision.h"
#include "core/numbers/sums.h"
#include "core/simd/of_isa.h"

#include <cstdint>

// One name per functor of core/blas/ops.h.
// clang-format off
#define QUADRILLE_BLAS_OPS(X)                                                                                  \
  X(Zero) X(Copy) X(Scale) X(Axpy) X(Xpay) X(Caxpy) X(Cxpay) X(SubtractNorm2) X(Norm2) X(Dot) X(AxpyNorm2)   \
  X(CaxpyNorm2) X(Dots2) X(Dots3) X(Dots4) X(Caxpys2) X(Caxpys3) X(Caxpys4) X(MrAlpha) X(MrUpdate)           \
  X(CgAlpha) X(CgResidual) X(CgBeta) X(CgUpdate)                                                             \
  X(BicgstabAlpha) X(BicgstabHalfStep) X(BicgstabOmega) X(BicgstabUpdate)
// clang-format on

namespace quadrille::blas {

#define X(name) name,
enum class OpId : int { QUADRILLE_BLAS_OPS(X) };
#undef X

/// One parity of one field.
struct Span {
  void* numbers;
  float* norms;
};

inline constexpr int max_fields = 5;

/// Runs an operation over the blocks [begin, end) of fields with `count` numbers a site, which is even and at most
/// most_site_numbers, and overwrites sums[0..Op::sums). `stream`: what is overwritten goes past the caches.
using ChunkKernel = void (*)(const void* op, const Span* fields, int count, std::int64_t begin, std::int64_t end,
                             bool stream, double* sums);

/// The kernel of an operation for a precision and a width, or null when this instruction set has none.
QUADRILLE_DECLARE_FOR_ISAS(ChunkKernel, find_kernel, (OpId op, Precision precision, int lanes))

}  // namespace quadrille::blas
