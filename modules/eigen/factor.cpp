#include "modules/eigen/factor.h"

#include "core/error.h"
#include "modules/eigen/lapack.h"
#include "modules/eigen/triangle.h"
#include "modules/mgemm/product/blas.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::eigen {

template <class T>
Factor<T>::Factor(std::int64_t n, std::vector<T> b, Triangle triangle, const std::string& name)
    : n_(n), l_(std::move(b)) {
  if (n < 1 || std::int64_t(l_.size()) != n * n) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("{} has {} elements: {} rows need {}", name, l_.size(), n, n * n));
  }
  const double began = now();
  fill_lower(n_, l_.data(), n_, triangle);
  exponent_ = scale_lower(n_, l_.data(), n_, name, triangle);
  fill_upper(n_, l_.data(), n_);
  for (std::int64_t i = 0; i < n_; ++i) diagonal_.push_back(l_[std::size_t(i + i * n_)]);
  const mgemm::AllBlasThreads all;
  if (const int minor = lapack::potrf(n_, l_.data(), n_); minor != 0) {
    throw Error(ErrorCode::numerical,
                fmt::format("{} is not positive definite: its leading {} x {} submatrix is not", name, minor, minor));
  }
  const double size = double(n_);
  made_ = {phase::cholesky, now() - began, (is_complex<T> ? 4 : 1) * size * size * size / 3};
}

template <class T>
void Factor<T>::to_standard(T* a, std::int64_t lda) const {
  const mgemm::AllBlasThreads all;
  lapack::sygst(n_, a, lda, l_.data(), n_);
}

template <class T>
void Factor<T>::back_to_general(T* x, std::int64_t ldx, std::int64_t count) const {
  const mgemm::AllBlasThreads all;
  lapack::solve_with_transpose(n_, count, l_.data(), n_, x, ldx);
  if (exponent_ == 0) return;
  const double scale = std::ldexp(1.0, -exponent_ / 2);
  for (std::int64_t k = 0; k < count; ++k) std::for_each_n(x + k * ldx, n_, [&](T& number) { number *= scale; });
}

template <class T>
std::vector<T> Factor<T>::matrix() const {
  std::vector<T> out = l_;
  fill_lower(n_, out.data(), n_, Triangle::upper);
  for (std::int64_t i = 0; i < n_; ++i) out[std::size_t(i + i * n_)] = diagonal_[std::size_t(i)];
  return out;
}

template class Factor<double>;
template class Factor<std::complex<double>>;

}  // namespace quadrille::eigen
