// The matrices of a job, read by rank 0 in pieces and sent to the ranks that have them.
#pragma once

#include "core/comm/communicator.h"
#include "modules/eigen/ranks/layout.h"
#include "modules/eigen/tasks/matrix_input.h"

#include <vector>

namespace quadrille::eigen {

/// This rank's part, of which the lower triangle of the matrix counts. While a file is read for both halves there are
/// two parts. Collective. Errors: those of read_matrix(); of files on rank 0 and FailedElsewhere on others, of matrices
/// on all.
template <class T>
std::vector<T> read_spread(const Communicator& ranks, const Layout& layout, const MatrixInput& input);

}  // namespace quadrille::eigen
