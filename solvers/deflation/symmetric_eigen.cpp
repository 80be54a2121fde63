#include "solvers/deflation/symmetric_eigen.h"

#define EIGEN_DONT_PARALLELIZE  // the same bits for any number of threads
#include <Eigen/Eigenvalues>

#include <algorithm>

namespace quadrille {

std::vector<double> symmetric_eigen(const std::vector<double>& matrix, std::size_t n, std::vector<double>& vectors) {
  const auto size = Eigen::Index(n);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> found(
      Eigen::Map<const Eigen::MatrixXd>(matrix.data(), size, size));
  vectors.resize(n * n);
  Eigen::Map<Eigen::MatrixXd>(vectors.data(), size, size) = found.eigenvectors();
  std::vector<double> values(n);
  std::copy_n(found.eigenvalues().data(), n, values.data());
  return values;
}

}  // namespace quadrille
