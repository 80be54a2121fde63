// The generalized problem's B = L L^H on the device.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/eigen/cuda/numbers.h"

#include <cstdint>

namespace quadrille::eigen {

/// The number, from 1, of the first leading minor that is not positive.
class MinorFinder {
 public:
  MinorFinder();
  /// 0: all that has been factored was positive definite. Waits for it.
  std::int64_t minor() const;
  long long* get() const { return first_.get(); }

 private:
  cuda::DeviceArray<long long> first_;
};

/// The lower half of a block of B, behind `before` rows, becomes that of L.
template <class T>
void factor_cholesky(std::int64_t n, T* b, std::int64_t ldb, std::int64_t before, const MinorFinder& failed);

/// The lower half of B becomes L. Returns the number, from 1, of the first leading minor that is not positive; 0 for
/// none.
template <class T>
std::int64_t factor_cholesky(std::int64_t n, T* b, std::int64_t ldb);

/// A := L^-1 A L^-H: n^3 real operations, nearly all in products. The lower half of A is read, both are written.
template <class T>
void to_standard_form(std::int64_t n, T* a, std::int64_t lda, const T* l, std::int64_t ldl);

/// X (n x count) := L^-H X.
template <class T>
void to_general_vectors(std::int64_t n, const T* l, std::int64_t ldl, T* x, std::int64_t ldx, std::int64_t count);

}  // namespace quadrille::eigen
