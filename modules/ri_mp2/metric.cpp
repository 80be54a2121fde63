// The inverse square root of the metric of the auxiliary basis.
#include "core/error.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/ri_mp2/ri_mp2.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

/// LAPACK, a part of OpenBLAS.
extern "C" void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
                        double* work, const int* lwork, int* iwork, const int* liwork, int* info);

namespace quadrille::ri_mp2 {
namespace {

constexpr double smallest_ratio = 1e-12;  ///< of eigenvalues
constexpr double largest_asymmetry = 1e-10;

void require_symmetric(const std::vector<double>& metric, std::int64_t n) {
  double largest = 0, asymmetry = 0;
  std::int64_t row = 0, column = 0;
  for (std::int64_t p = 0; p < n; ++p) {
    for (std::int64_t q = 0; q <= p; ++q) {
      const double one = metric[std::size_t(p * n + q)], other = metric[std::size_t(q * n + p)];
      largest = std::max(largest, std::abs(one));
      if (std::abs(one - other) > asymmetry) {
        asymmetry = std::abs(one - other);
        row = p;
        column = q;
      }
    }
  }
  if (asymmetry <= largest_asymmetry * largest) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("the metric (P|Q) must be symmetric: elements [{}, {}] and [{}, {}] "
                          "differ by {:.3g}",
                          row, column, column, row, asymmetry));
}

/// Replaces the matrix by its eigenvectors, one after the other, and gives the eigenvalues in rising order.
std::vector<double> diagonalize(std::vector<double>& matrix, std::int64_t n) {
  const int size = int(n), ask = -1;
  int info = 0, liwork = 0;
  double lwork = 0;
  std::vector<double> values(static_cast<std::size_t>(n));
  dsyevd_("V", "U", &size, matrix.data(), &size, values.data(), &lwork, &ask, &liwork, &ask, &info);
  std::vector<double> work(static_cast<std::size_t>(lwork));
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  const int length = int(lwork);
  dsyevd_("V", "U", &size, matrix.data(), &size, values.data(), work.data(), &length, iwork.data(), &liwork, &info);
  if (info != 0)
    throw Error(ErrorCode::numerical,
                fmt::format("the metric (P|Q) could not be diagonalized: LAPACK's dsyevd returned {}", info));
  return values;
}

}  // namespace

std::vector<double> inverse_square_root(const std::vector<double>& metric, std::int64_t n) {
  require_symmetric(metric, n);
  std::vector<double> vectors = metric;
  const std::vector<double> values = diagonalize(vectors, n);
  if (!(values.front() > smallest_ratio * values.back())) {
    throw Error(ErrorCode::numerical,
                fmt::format("the metric (P|Q) is not positive definite to working precision: its eigenvalues range "
                            "from {:.3g} to {:.3g}, and the smallest must exceed {:.0e} of the largest; remove "
                            "linearly dependent functions from the auxiliary basis",
                            values.front(), values.back(), smallest_ratio));
  }
  std::vector<double> scaled = vectors;  // column k times lambda_k^{-1/4}, so that its square has the root
  for (std::int64_t k = 0; k < n; ++k) {
    const double factor = std::pow(values[std::size_t(k)], -0.25);
    std::for_each_n(scaled.begin() + k * n, n, [&](double& x) { x *= factor; });
  }
  std::vector<double> root(static_cast<std::size_t>(n * n));
  const mgemm::Gemm<double> gemm{.trans_b = mgemm::Transpose::yes,
                                 .m = n,
                                 .n = n,
                                 .k = n,
                                 .a = scaled.data(),
                                 .lda = n,
                                 .b = scaled.data(),
                                 .ldb = n,
                                 .c = root.data(),
                                 .ldc = n};
  (void)mgemm::cleaver(gemm);
  return root;
}

}  // namespace quadrille::ri_mp2
