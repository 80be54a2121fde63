// The eigenproblem on a GPU. In builds with CUDA alone: see with_cuda() in core/backend/of_backend.h.
#pragma once

#include "core/api.h"
#include "modules/eigen/problem.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// The Cholesky factor of B in the memory of the CUDA backend, kept for all A of problems with the same B.
template <class T>
class QUADRILLE_API DeviceFactor {
 public:
  /// B: n x n by columns with leading dimension ldb, in the memory of the host or of the device. Errors: those of
  /// Factor.
  DeviceFactor(std::int64_t n, const T* b, std::int64_t ldb, Triangle triangle, const std::string& name = "B");
  ~DeviceFactor();
  DeviceFactor(DeviceFactor&&) noexcept;

  std::int64_t n() const;
  /// What its making took.
  const Phase& made() const;

  struct Data;
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

template <class T>
struct DeviceProblem {
  std::int64_t n = 0;
  const T* a = nullptr;  ///< n x n by columns, in the memory of the host or of the device; left as it is
  std::int64_t lda = 0;
  Triangle triangle = Triangle::lower;
  const DeviceFactor<T>* b = nullptr;  ///< null: B is the identity
  Fraction fraction = {};
  Progress progress = {};
};

/// As solve(), with the same normalization and errors: two-stage tridiagonalization (band, bulge chasing), divide and
/// conquer, and back-transformations on the device. Every run on the same kind of device gives the same bits.
/// Eigenvalues alone come from bisection. Errors besides: those of require_device().
template <class T>
QUADRILLE_API Pairs<T> solve_on_device(const DeviceProblem<T>& problem);

/// The same with vectors that stay in the device's memory. `found.vectors` is empty.
template <class T>
struct PairsThere {
  Pairs<T> found;
  std::shared_ptr<T> vectors;  ///< n x count by columns, in the device's memory; null for Fraction::none()
};
template <class T>
QUADRILLE_API PairsThere<T> solve_and_stay(const DeviceProblem<T>& problem);

/// Copies rows x columns numbers by columns from and to the memory of the host or the device; they have arrived when it
/// returns.
template <class T>
QUADRILLE_API void copy_columns(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld_from, T* to,
                                std::int64_t ld_to);

/// Bytes of the device's memory that solve_on_device takes; `factor_too`: with the factor of B.
template <class T>
QUADRILLE_API double device_bytes(std::int64_t n, const Fraction& fraction, bool factor_too);

/// What can be said before there are matrices: throws ErrorCode::unsupported where the device cannot run the kernels
/// for problems of n rows (require_limits), NotEnoughMemory where device_bytes() are not free.
template <class T>
QUADRILLE_API void require_device(std::int64_t n, const Fraction& fraction, bool factor_too);

}  // namespace quadrille::eigen
