// Dense products by OpenBLAS.
#pragma once

#include "core/api.h"
#include "modules/shared/dense/dense_view.h"

#include <cstdint>
#include <functional>

namespace quadrille::mgemm {

/// Called between the parts of a product, by the thread that called it, where it is not empty. What it throws ends
/// the product; C then holds anything.
using Pause = std::function<void()>;

/// While one lives, OpenBLAS uses one thread a call; after the last of them as many as before the first. The number is
/// one of the whole process: other threads that use OpenBLAS meanwhile see it.
class QUADRILLE_API OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
};

/// While one lives, OpenBLAS uses as many threads per call as OpenMP would: for comparisons with its own products.
/// A OneBlasThread of any thread comes first.
class QUADRILLE_API AllBlasThreads {
 public:
  AllBlasThreads();
  ~AllBlasThreads();
  AllBlasThreads(const AllBlasThreads&) = delete;
  AllBlasThreads& operator=(const AllBlasThreads&) = delete;
};

/// The longest extent and leading dimension that dense_product takes.
constexpr std::int64_t max_blas_extent = (std::int64_t(1) << 31) - 1;

/// C = alpha A B + beta C by one call of cblas_?gemm: A is m x k, B k x n, C m x n and stored by columns. beta = 0 does
/// not read C.
QUADRILLE_API void dense_product(double alpha, DenseView<const double> a, DenseView<const double> b, double beta,
                                 DenseView<double> c);
QUADRILLE_API void dense_product(float alpha, DenseView<const float> a, DenseView<const float> b, float beta,
                                 DenseView<float> c);

/// Rows and columns of C that a thread works on at once.
struct Tile {
  std::int64_t rows, cols;
};

inline std::int64_t tiles_along(std::int64_t extent, std::int64_t tile) { return (extent + tile - 1) / tile; }

/// At most 1024 x 1024, cut until there are 16 of them but not below 256 x 256, and with at most `max_numbers` floats.
/// Depends on the sizes only, never on the number of threads.
QUADRILLE_API Tile choose_tile(std::int64_t m, std::int64_t n, std::int64_t max_numbers);

/// C = alpha A B + beta C in tiles, each a dense product of one of OpenMP's threads: OpenBLAS's own would compete with
/// those of OpenMP, which may still spin after the loop before, and its sums could depend on their number.
template <class T>
QUADRILLE_API void shared_product(T alpha, DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c,
                                  const Pause& pause = {});

}  // namespace quadrille::mgemm
