// Dense products by OpenBLAS.
#pragma once

#include "core/dense_view.h"

#include <cstdint>

namespace quadrille::mgemm {

/// While it lives, OpenBLAS uses this many threads; then as many as before. The number is one of the whole process:
/// other threads that use OpenBLAS meanwhile see it.
class BlasThreads {
 public:
  explicit BlasThreads(int threads);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  int before_;
};

/// The longest extent and leading dimension that dense_product takes.
constexpr std::int64_t max_blas_extent = (std::int64_t(1) << 31) - 1;

/// C = alpha A B + beta C by cblas_?gemm: A is m x k, B k x n, C m x n and stored by columns. beta = 0 does not read C.
void dense_product(double alpha, DenseView<const double> a, DenseView<const double> b, double beta,
                   DenseView<double> c);
void dense_product(float alpha, DenseView<const float> a, DenseView<const float> b, float beta, DenseView<float> c);

}  // namespace quadrille::mgemm
