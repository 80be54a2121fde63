// The part of a mixed-precision product that large elements take part in, in double.
#pragma once

#include "modules/shared/dense/dense_view.h"
#include "modules/shared/dense/magnitude_split.h"

namespace quadrille::mgemm {

/// C += alpha L D, where L holds the large elements of an m x k matrix, D is k x n, and elements of D above
/// `skip_above` in magnitude count as 0. D and C may be stored by rows or by columns and do not overlap. A product D L
/// is the same with everything transposed.
///
/// Threads share blocks of `large_lanes` columns of D; of each the rows that L needs are packed, a slab of L at a time,
/// so that every element of L meets contiguous numbers in the cache. The order of the sums does not depend on the
/// number of threads.
void add_large_product(double alpha, const LargeElements& large, DenseView<const double> d, double skip_above,
                       DenseView<double> c);

}  // namespace quadrille::mgemm
