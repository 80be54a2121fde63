// Scalars of field algebra as plain data: for host and devices, and the same in every instruction set.
#pragma once

namespace quadrille::blas {

/// A complex coefficient.
struct Coefficient {
  double re = 0, im = 0;
};

}  // namespace quadrille::blas
