// The entry points of the device code of this backend (*.cu), as the host's code calls them.
#pragma once

#include "core/blas/op_table.h"
#include "core/precision.h"

#include <cstdint>

namespace quadrille::cuda {

/// One parity of a spinor field in the grouped layout.
struct Spinor {
  void* numbers;
  float* norms;  ///< half precision only
  Precision precision;
};

/// dst = src over `sites` sites. dst may be src.
void convert(const Spinor& dst, const Spinor& src, std::int64_t sites);
/// dst = g src or g^+ src; g: 18 numbers a site in double, in the grouped layout.
void rotate(const Spinor& dst, const Spinor& src, const double* g, bool adjoint, std::int64_t sites);

/// One operation of field algebra on the parities of its fields.
struct AlgebraCall {
  blas::OpId id;
  const void* op;
  Precision precision;
  int parities;
  blas::Span spans[2][blas::max_fields];
  std::int64_t sites;  ///< of a parity
};
blas::Sums run(const AlgebraCall& call);

}  // namespace quadrille::cuda
