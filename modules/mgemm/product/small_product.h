// The dense product of the small elements, in single precision, added to C in double.
#pragma once

#include "modules/mgemm/product/blas.h"
#include "modules/shared/dense/dense_view.h"

#include <cstdint>

namespace quadrille::mgemm {

/// C = beta C + alpha A B, the product in sums of at most `depth` terms in single precision, which are added up in
/// double. A is m x k, B k x n, C m x n and stored by columns; beta = 0 does not read C. C is worked on in tiles; a
/// thread does all of one, with its own tile of floats, so that neither OpenBLAS nor
/// the number of threads enters the order of the sums. A OneBlasThread must live. At most
/// `threads` threads are used.
void add_small_product(double alpha, DenseView<const float> a, DenseView<const float> b, double beta,
                       DenseView<double> c, std::int64_t depth, Tile tile, int threads);

}  // namespace quadrille::mgemm
