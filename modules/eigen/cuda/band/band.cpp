#include "modules/eigen/cuda/band/band.h"
#include "modules/eigen/cuda/band/band_steps.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/triangles.h"

namespace quadrille::eigen {

template <class T>
double band_bytes(std::int64_t n) {
  return sizeof(T) * double(n) * (2 * deferred + 3 * bandwidth + 1);
}

template <class T>
Band<T> reduce_to_band(std::int64_t n, T* a, std::int64_t lda) {
  constexpr int b = bandwidth;
  Band<T> out{device_array<T>(2 * b * n), zeros<T>(n + b)};
  const Workspace<T> work(n, deferred);
  T *const y = work.y.get(), *const z = work.z.get();
  for (std::int64_t block = 0; block + b < n; block += deferred) {
    std::int64_t k = 0, first = 0;  // columns of the block that are done; the first row below the band
    for (; k < deferred && block + k + b < n; k += b) {
      const std::int64_t j = block + k;  // columns j to j + b of A are up to date
      first = j + b;
      const std::int64_t rows = n - first;
      T* const vectors = y + first + k * n;
      factor_columns(a + first + j * lda, lda, rows, vectors, n, out.tau.get() + j, work);
      T* const w = work.w.get() + first;
      form_w(n, rows, vectors, out.tau.get() + j, work, w);
      product(Op::none, Op::none, rows, b, rows, 1, a + first + first * lda, lda, w, n, 0, z + first + k * n, n);
      form_z(n, first, k, work);
      const bool last = k + b >= deferred || first + b >= n;
      if (!last) update_columns(n, first, k + b, a + first + first * lda, lda, work);
    }
    T* const rest = a + first + first * lda;
    subtract_rank_2k(n - first, k, y + first, n, z + first, n, rest, lda);
    fill_upper_half(n - first, rest, lda);
  }
  take_band(n, 0, n, a, lda, out.band.get());
  return out;
}

template double band_bytes<double>(std::int64_t);
template double band_bytes<Complex>(std::int64_t);
template Band<double> reduce_to_band(std::int64_t, double*, std::int64_t);
template Band<Complex> reduce_to_band(std::int64_t, Complex*, std::int64_t);

}  // namespace quadrille::eigen
