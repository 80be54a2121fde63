// The product of two matrices that are split by the magnitude of their elements.
#pragma once

#include "core/api.h"
#include "modules/mgemm/product/blas.h"
#include "modules/shared/dense/dense_view.h"
#include "modules/shared/dense/magnitude_split.h"

#include <cstdint>
#include <memory>

namespace quadrille::mgemm {

/// A factor of products in mixed precision: its small elements in single, its large ones in a list. One split serves
/// any number of products.
class QUADRILLE_API SplitFactor {
 public:
  /// Splits rows x k elements; `matrix` is not copied and must stay as it is. Memory is kept for the next call. Not in
  /// a parallel region.
  void assign(DenseView<const double> matrix, double delta);

  const DenseView<const double>& exact() const { return exact_; }
  const DenseView<const float>& small() const { return small_; }
  const LargeElements& large() const { return large_; }
  double delta() const { return delta_; }

 private:
  DenseView<const double> exact_;
  double delta_ = 0;
  std::int64_t capacity_ = 0;
  std::unique_ptr<float[]> memory_;
  DenseView<const float> small_;
  LargeElements large_;
};

/// C = beta C + alpha A B^T = beta C + alpha (A_small B_small^T + A_large B^T + A_small B_large^T), where A (m x k) and
/// B (n x k) are split at the same delta and C is stored by columns. Sums in single have at most `depth` terms; beta =
/// 0 does not read C. `tile` and `threads` as in add_small_product. A OneBlasThread must live.
QUADRILLE_API void multiply_split(double alpha, const SplitFactor& a, const SplitFactor& b, double beta,
                                  DenseView<double> c, std::int64_t depth, const Tile& tile, int threads);

/// The same without a limit of memory and with all of OpenMP's threads; C may be stored either way.
QUADRILLE_API void multiply_split(double alpha, const SplitFactor& a, const SplitFactor& b, double beta,
                                  DenseView<double> c, std::int64_t depth);

}  // namespace quadrille::mgemm
