#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/triangles.h"

namespace quadrille::eigen {
namespace {

constexpr int tile_rows = 32;

/// Tile (i, j) of one half into tile (j, i) of the other.
template <class T>
__global__ void reflect(T* a, std::int64_t lda, int n, bool from_lower) {
  __shared__ T tile[tile_rows][tile_rows + 1];
  const int row_tile = from_lower ? blockIdx.x : blockIdx.y, column_tile = from_lower ? blockIdx.y : blockIdx.x;
  if (blockIdx.x < blockIdx.y) return;
  for (int k = threadIdx.y; k < tile_rows; k += blockDim.y) {
    const std::int64_t r = row_tile * tile_rows + threadIdx.x, c = column_tile * tile_rows + k;
    if (r < n && c < n) tile[k][threadIdx.x] = a[r + c * lda];
  }
  __syncthreads();
  for (int k = threadIdx.y; k < tile_rows; k += blockDim.y) {
    const std::int64_t r = column_tile * tile_rows + threadIdx.x, c = row_tile * tile_rows + k;
    if (r < n && c < n && (from_lower ? r < c : r > c)) a[r + c * lda] = conj(tile[threadIdx.x][k]);
  }
}
template <class T>
__global__ void adjoint(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld_from, T* to,
                        std::int64_t ld_to) {
  __shared__ T tile[tile_rows][tile_rows + 1];
  const std::int64_t first_row = std::int64_t(blockIdx.x) * tile_rows,
                     first_column = std::int64_t(blockIdx.y) * tile_rows;
  for (int k = threadIdx.y; k < tile_rows; k += blockDim.y) {
    const std::int64_t r = first_row + threadIdx.x, c = first_column + k;
    if (r < rows && c < columns) tile[k][threadIdx.x] = from[r + c * ld_from];
  }
  __syncthreads();
  for (int k = threadIdx.y; k < tile_rows; k += blockDim.y) {
    const std::int64_t r = first_column + threadIdx.x, c = first_row + k;
    if (r < columns && c < rows) to[r + c * ld_to] = conj(tile[threadIdx.x][k]);
  }
}
template <class T>
void reflect_all(std::int64_t n, T* a, std::int64_t lda, bool from_lower) {
  if (n == 0) return;
  const unsigned tiles = unsigned((n + tile_rows - 1) / tile_rows);
  reflect<T><<<dim3(tiles, tiles), dim3(tile_rows, 8), 0, cuda::stream()>>>(a, lda, int(n), from_lower);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

/// The bits of doubles that are not negative have the order of their values; those of infinities and NaN come last.
template <class T>
__global__ void find_largest(std::int64_t n, std::int64_t columns, const T* a, std::int64_t lda,
                             unsigned long long* largest) {
  unsigned long long mine = 0;
  for (std::int64_t c = blockIdx.x; c < columns; c += gridDim.x) {
    for (std::int64_t r = c + threadIdx.x; r < n; r += blockDim.x) {
      const T x = a[r + c * lda];
      const auto bits = [](double y) { return (unsigned long long)__double_as_longlong(fabs(y)); };
      mine = max(mine, max(bits(real(x)), bits(r == c ? 0.0 : imag(x))));
    }
  }
  for (int by = 16; by > 0; by /= 2) mine = max(mine, __shfl_xor_sync(0xffffffffu, mine, by));
  if (threadIdx.x % 32 == 0) atomicMax(largest, mine);
}
template <class T>
__global__ void find_not_finite(std::int64_t n, std::int64_t columns, const T* a, std::int64_t lda,
                                unsigned long long* first) {
  for (std::int64_t c = blockIdx.x; c < columns; c += gridDim.x) {
    for (std::int64_t r = c + threadIdx.x; r < n; r += blockDim.x) {
      const T x = a[r + c * lda];
      if (!isfinite(real(x)) || !isfinite(r == c ? 0.0 : imag(x))) atomicMin(first, (unsigned long long)(r + n * c));
    }
  }
}
template <class T>
__global__ void scale(std::int64_t n, std::int64_t columns, T* a, std::int64_t lda, double factor) {
  for (std::int64_t c = blockIdx.x; c < columns; c += gridDim.x) {
    for (std::int64_t r = c + threadIdx.x; r < n; r += blockDim.x) a[r + c * lda] = factor * a[r + c * lda];
  }
}
unsigned columns_at_once(std::int64_t columns) { return unsigned(std::min<std::int64_t>(columns, 4096)); }

}  // namespace

template <class T>
void fill_upper_half(std::int64_t n, T* a, std::int64_t lda) {
  reflect_all(n, a, lda, true);
}
template <class T>
void fill_lower_half(std::int64_t n, T* a, std::int64_t lda) {
  reflect_all(n, a, lda, false);
}
template <class T>
void copy_adjoint(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld_from, T* to,
                  std::int64_t ld_to) {
  if (rows == 0 || columns == 0) return;
  const dim3 tiles(unsigned((rows + tile_rows - 1) / tile_rows), unsigned((columns + tile_rows - 1) / tile_rows));
  adjoint<T><<<tiles, dim3(tile_rows, 8), 0, cuda::stream()>>>(rows, columns, from, ld_from, to, ld_to);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}
template <class T>
double largest_of_lower(std::int64_t n, std::int64_t columns, const T* a, std::int64_t lda) {
  const auto largest = zeros<double>(1);
  find_largest<T><<<columns_at_once(columns), 256, 0, cuda::stream()>>>(
      n, columns, a, lda, reinterpret_cast<unsigned long long*>(largest.get()));
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  return cuda::fetched(largest.get(), 1).front();
}
template <class T>
std::int64_t first_not_finite(std::int64_t n, std::int64_t columns, const T* a, std::int64_t lda) {
  const auto first = device_array<unsigned long long>(1);
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(first.get(), 0xff, sizeof(unsigned long long), cuda::stream()));
  find_not_finite<T><<<columns_at_once(columns), 256, 0, cuda::stream()>>>(n, columns, a, lda, first.get());
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  return std::int64_t(cuda::fetched(first.get(), 1).front());
}
template <class T>
void scale_lower_half(std::int64_t n, std::int64_t columns, T* a, std::int64_t lda, double factor) {
  scale<T><<<columns_at_once(columns), 256, 0, cuda::stream()>>>(n, columns, a, lda, factor);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

#define QUADRILLE_TRIANGLES(T)                                                                      \
  template void fill_upper_half(std::int64_t, T*, std::int64_t);                                    \
  template void fill_lower_half(std::int64_t, T*, std::int64_t);                                    \
  template void copy_adjoint(std::int64_t, std::int64_t, const T*, std::int64_t, T*, std::int64_t); \
  template double largest_of_lower(std::int64_t, std::int64_t, const T*, std::int64_t);             \
  template std::int64_t first_not_finite(std::int64_t, std::int64_t, const T*, std::int64_t);       \
  template void scale_lower_half(std::int64_t, std::int64_t, T*, std::int64_t, double);
QUADRILLE_TRIANGLES(double)
QUADRILLE_TRIANGLES(Complex)
#undef QUADRILLE_TRIANGLES

}  // namespace quadrille::eigen
