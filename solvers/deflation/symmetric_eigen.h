// Eigenvectors of small symmetric matrices, by Eigen: the same bits for any number of threads, which BLAS does not
// promise.
#pragma once

#include <cstddef>
#include <vector>

namespace quadrille {

/// Of an n x n matrix: eigenvalues in rising order; `vectors` is overwritten with the eigenvectors, of norm 1, one
/// behind the other.
std::vector<double> symmetric_eigen(const std::vector<double>& matrix, std::size_t n, std::vector<double>& vectors);

}  // namespace quadrille
