// Products of whole matrices by cuBLAS, for matrices whose blocks are mostly there.
#pragma once

#include "modules/block_dft/matrix/cuda/device_matrix.h"

namespace quadrille::block_dft {

struct DenseProblem {
  double alpha;
  Transpose op_a;
  const DeviceMatrix::Data& a;
  Transpose op_b;
  const DeviceMatrix::Data& b;
  double beta;
  const DeviceMatrix::Data& old;  ///< C before; counts where beta is not 0
  DeviceMatrix::Data& c;          ///< whose places are found
};

/// Whether a dense product is faster than one of blocks with so many flops, whose largest piece has `tiles` tiles in
/// units of `most` rows (unit_for), by what was measured; and there is memory for three dense matrices.
bool dense_is_faster(const DenseProblem& problem, double flops, std::int32_t most, int tiles);

/// op(matrix), row by row.
DeviceArray<double> spread(Transpose op, const DeviceMatrix::Data& matrix);

/// alpha times a matrix of lines of `ld`, and beta times the blocks of `old`, which may be null.
struct DenseSource {
  const double* dense;
  std::int64_t ld;
  double alpha, beta;
  const DeviceMatrix::Data* old;
};
/// The numbers of C at its places.
void gather(const DenseSource& from, DeviceMatrix::Data& c);

/// The numbers of C at its places.
void multiply_dense(const DenseProblem& problem);

}  // namespace quadrille::block_dft
