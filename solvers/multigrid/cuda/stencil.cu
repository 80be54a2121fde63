// The stencil of a coarse operator on a GPU: a block of threads works on a site, a thread on two rows of some columns.
// A matrix is read once for all right-hand sides of a launch, and the sums of one do not depend on how many there are.
#include "solvers/multigrid/stencil.h"

#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "solvers/multigrid/cuda/device_multigrid.h"
#include "solvers/multigrid/cuda/device_sites.cuh"
#include "solvers/multigrid/dense_kernels.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace quadrille::multigrid {
namespace {

using device::add_product;
using device::Complex;
using device::load_pair;
using device::Pair;

constexpr const char* stencil_advice = "use fewer `vectors` or larger `blocks`";
template <class T>
constexpr int stencil_lists = sizeof(T) == 4 ? 12 : 4;  ///< right-hand sides of one launch, as registers allow
constexpr int most_rows = 112;                          ///< of a matrix that is inverted in shared memory

/// One parity of the fields of a launch; null where a field has no part in it.
template <class T>
struct Sides {
  T* of[stencil_lists<T>] = {};
};

/// y_r = z_r +- sum over the columns c of a site's matrices of M[c] x_r[c].
template <class T>
struct Product {
  const T* matrices;  ///< of the first site: [column][row]
  std::int64_t site_stride;
  int rows, count;        ///< of a matrix; of matrices
  bool with_own = false;  ///< the first matrix multiplies `own`
  bool subtract = false;
  const std::int32_t* neighbours = nullptr;  ///< [site][8], the direction of the first matrix that multiplies `around`
  Sides<T> y{}, own{}, around{}, z{};
};

template <class T, int R>
__global__ void multiply_sites(const __grid_constant__ Product<T> p) {
  extern __shared__ double shared_memory[];
  Complex<T>* const x = reinterpret_cast<Complex<T>*>(shared_memory);  // [column][r]
  const std::int64_t site = blockIdx.x;
  const int columns = p.count * p.rows;
  for (int i = int(threadIdx.x); i < columns * R; i += int(blockDim.x)) {
    const int r = i / columns, c = i % columns, m = c / p.rows;
    const bool own = p.with_own && m == 0;
    const T* const field = own ? p.own.of[r] : p.around.of[r];
    const std::int64_t from = own ? site : p.neighbours[site * 8 + m - (p.with_own ? 1 : 0)];
    const T* const number = field + 2 * (from * p.rows + c % p.rows);
    x[c * R + r] = {number[0], number[1]};
  }
  __syncthreads();
  const int pairs = p.rows / 2, splits = int(blockDim.x) / pairs;
  const int pair = int(threadIdx.x) % pairs, split = int(threadIdx.x) / pairs;
  const T* matrix = p.matrices + site * p.site_stride + 4 * pair;
  Complex<T> sums[R][2] = {};
#pragma unroll 4
  for (int c = split; c < columns; c += splits) {
    const Pair<T> column = load_pair(matrix + std::int64_t(c) * 2 * p.rows);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const Complex<T> value = x[c * R + r];
      add_product(sums[r][0], column.at[0], value);
      add_product(sums[r][1], column.at[1], value);
    }
  }
  Complex<T>* const partial = x;  // [split][row]
#pragma unroll
  for (int r = 0; r < R; ++r) {
    __syncthreads();
    partial[split * p.rows + 2 * pair] = sums[r][0];
    partial[split * p.rows + 2 * pair + 1] = sums[r][1];
    __syncthreads();
    for (int row = int(threadIdx.x); row < p.rows; row += int(blockDim.x)) {
      if (p.y.of[r] == nullptr) continue;
      Complex<T> sum{};
      for (int s = 0; s < splits; ++s) {
        sum.re += partial[s * p.rows + row].re;
        sum.im += partial[s * p.rows + row].im;
      }
      const std::int64_t place = 2 * (site * p.rows + row);
      if (p.subtract) sum = {-sum.re, -sum.im};
      if (p.z.of[r] != nullptr) sum.re += p.z.of[r][place], sum.im += p.z.of[r][place + 1];
      p.y.of[r][place] = sum.re, p.y.of[r][place + 1] = sum.im;
    }
  }
}

/// Overwrites the matrix of each site, which is kept in `kept`, by its inverse, in double: Gauss-Jordan elimination,
/// the pivot of a step the largest of its column. `singular` of a site is set where there is none.
template <class T>
__global__ void invert_sites(T* matrices, std::int64_t site_stride, T* kept, int n, int* singular) {
  extern __shared__ double shared_memory[];
  using Number = Complex<double>;
  Number* const m = reinterpret_cast<Number*>(shared_memory);  // [n][n], transposed: it makes no difference
  Number* const factors = m + n * n;
  __shared__ int exchanged[most_rows], pivot;
  T* const matrix = matrices + std::int64_t(blockIdx.x) * site_stride;
  T* const copy = kept + std::int64_t(blockIdx.x) * 2 * n * n;
  const int thread = int(threadIdx.x), threads = int(blockDim.x);
  for (int i = thread; i < n * n; i += threads) {
    copy[2 * i] = matrix[2 * i], copy[2 * i + 1] = matrix[2 * i + 1];
    m[i] = {double(matrix[2 * i]), double(matrix[2 * i + 1])};
  }
  __syncthreads();
  const auto product = [](const Number& a, const Number& b) {
    return Number{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  };
  for (int k = 0; k < n; ++k) {
    if (thread == 0) {
      int best = k;
      double largest = 0;
      for (int row = k; row < n; ++row) {
        const Number& number = m[row * n + k];
        const double size = number.re * number.re + number.im * number.im;
        if (size > largest) best = row, largest = size;
      }
      exchanged[k] = best;
      pivot = largest > 0 && isfinite(largest) ? best : -1;
    }
    __syncthreads();
    if (pivot < 0) {
      if (thread == 0) *singular = 1;
      return;
    }
    for (int column = thread; column < n && pivot != k; column += threads) {
      const Number other = m[pivot * n + column];
      m[pivot * n + column] = m[k * n + column];
      m[k * n + column] = other;
    }
    __syncthreads();
    for (int row = thread; row < n; row += threads) factors[row] = m[row * n + k];
    __syncthreads();
    const Number diagonal = factors[k];
    const double size = diagonal.re * diagonal.re + diagonal.im * diagonal.im;
    const Number inverse{diagonal.re / size, -diagonal.im / size};
    for (int column = thread; column < n; column += threads) {
      m[k * n + column] = column == k ? inverse : product(m[k * n + column], inverse);
    }
    __syncthreads();
    for (int i = thread; i < n * n; i += threads) {
      const int row = i / n, column = i % n;
      if (row == k) continue;
      const Number taken = product(factors[row], m[k * n + column]);
      const Number before = column == k ? Number{0, 0} : m[i];
      m[i] = {before.re - taken.re, before.im - taken.im};
    }
    __syncthreads();
  }
  for (int k = n; k-- > 0;) {
    for (int row = thread; row < n && exchanged[k] != k; row += threads) {
      const Number other = m[row * n + k];
      m[row * n + k] = m[row * n + exchanged[k]];
      m[row * n + exchanged[k]] = other;
    }
    __syncthreads();
  }
  for (int i = thread; i < n * n; i += threads) matrix[2 * i] = T(m[i].re), matrix[2 * i + 1] = T(m[i].im);
}

/// H = -A H for the matrices H behind A of each site, number blockIdx.y of them.
template <class T>
__global__ void multiply_hops(T* matrices, std::int64_t site_stride, int n) {
  extern __shared__ double shared_memory[];
  Complex<T>* const hop = reinterpret_cast<Complex<T>*>(shared_memory);
  const T* const a = matrices + std::int64_t(blockIdx.x) * site_stride;
  T* const there = matrices + std::int64_t(blockIdx.x) * site_stride + std::int64_t(1 + blockIdx.y) * 2 * n * n;
  for (int i = int(threadIdx.x); i < n * n; i += int(blockDim.x)) hop[i] = {there[2 * i], there[2 * i + 1]};
  __syncthreads();
  for (int i = int(threadIdx.x); i < n * n; i += int(blockDim.x)) {
    const int column = i / n, row = i % n;
    Complex<T> sum{};
    for (int k = 0; k < n; ++k) {
      const T* const number = a + 2 * (k * n + row);
      add_product(sum, Complex<T>{number[0], number[1]}, hop[column * n + k]);
    }
    there[2 * i] = -sum.re, there[2 * i + 1] = -sum.im;
  }
}

template <class T>
T* numbers_of(const Field* field, Parity p) {
  return field == nullptr ? nullptr : static_cast<T*>(const_cast<Field*>(field)->numbers(p));
}

/// Shared memory for the inverse of a matrix with so many rows: itself, and a column.
std::size_t inverse_bytes(std::size_t rows) { return (rows * rows + rows) * sizeof(Complex<double>); }

template <class Kernel>
void allow_shared(Kernel* kernel, std::size_t bytes) {
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
}

template <class T>
class StencilOnDevice final : public Stencil {
 public:
  explicit StencilOnDevice(const FieldDesc& coarse)
      : half_(coarse.lattice->half_volume()),
        rows_(coarse.components() / 2),
        matrices_(2 * half_ * site_stride(), "the matrices of a coarse operator", stencil_advice),
        odd_(half_ * matrix_size(), "the matrices of a coarse operator", stencil_advice),
        neighbours_(cuda::sent(neighbours_of(*coarse.lattice), "the neighbours of coarse sites", stencil_advice)) {
    const int most = device_limits().vectors;
    if (rows_ > 2 * most) {
      throw Error(ErrorCode::unsupported, "multigrid on this GPU has up to " + std::to_string(most) + " vectors");
    }
    // Where a block has one site in a direction, all links go forward.
    QUADRILLE_CUDA_CHECK(
        cudaMemsetAsync(matrices_.get(), 0, std::size_t(matrices_.count()) * sizeof(T), cuda::stream()));
  }

  void project(const Transfer& transfer, std::span<const Field* const> images, int colour, int first) override {
    transfer.project(images, colour, StencilMatrices<T>{matrices_.get(), rows_}, first);
  }
  bool invert_odd_sites() override;
  void run(std::span<const StencilCall> calls, Parity p, int first, int count, bool subtract) const override {
    for (std::size_t begin = 0; begin < calls.size(); begin += lists) {
      const auto some = calls.subspan(begin, std::min(lists, calls.size() - begin));
      Product<T> product{.matrices = of_site(p) + first * matrix_size(),
                         .site_stride = site_stride(),
                         .rows = rows_,
                         .count = count,
                         .with_own = first == 0,
                         .subtract = subtract,
                         .neighbours = neighbours_.get() + std::int64_t(p) * half_ * 8};
      for (std::size_t r = 0; r < lists; ++r) {
        const StencilCall& call = some[std::min(r, some.size() - 1)];
        product.own.of[r] = first == 0 ? numbers_of<T>(call.own, p) : nullptr;
        product.around.of[r] = first + count > 1 ? numbers_of<T>(call.around, opposite(p)) : nullptr;
        product.z.of[r] = numbers_of<T>(call.z, p);
        product.y.of[r] = r < some.size() ? numbers_of<T>(call.y, p) : nullptr;
      }
      launch(product, some.size());
    }
  }
  void multiply_odd(OperandList list) const override {
    for (std::size_t begin = 0; begin < list.size(); begin += lists) {
      const OperandList some = list.subspan(begin, std::min(lists, list.size() - begin));
      Product<T> product{
          .matrices = odd_.get(), .site_stride = matrix_size(), .rows = rows_, .count = 1, .with_own = true};
      for (std::size_t r = 0; r < lists; ++r) {
        product.own.of[r] = numbers_of<T>(some[std::min(r, some.size() - 1)].x, Parity::Odd);
        product.y.of[r] = r < some.size() ? numbers_of<T>(some[r].y, Parity::Odd) : nullptr;
      }
      launch(product, some.size());
    }
  }

 private:
  static constexpr std::size_t lists = stencil_lists<T>;

  std::int64_t matrix_size() const { return std::int64_t(2) * rows_ * rows_; }
  std::int64_t site_stride() const { return stencil_size * matrix_size(); }
  T* of_site(Parity p) const { return matrices_.get() + std::int64_t(p) * half_ * site_stride(); }
  void launch(const Product<T>& product, std::size_t count) const;

  std::int64_t half_;
  int rows_;
  cuda::DeviceArray<T> matrices_, odd_;  ///< odd_: A_oo
  cuda::DeviceArray<std::int32_t> neighbours_;
};

template <class T>
void StencilOnDevice<T>::launch(const Product<T>& product, std::size_t count) const {
  const auto with = [&](auto constant) {
    constexpr int R = constant;
    const int pairs = rows_ / 2, splits = std::max(1, 256 / pairs);
    const std::size_t numbers = std::size_t(std::max(product.count * R, splits) * rows_);
    const std::size_t bytes = numbers * sizeof(Complex<T>);
    allow_shared(multiply_sites<T, R>, bytes);
    multiply_sites<T, R><<<unsigned(half_), unsigned(pairs * splits), bytes, cuda::stream()>>>(product);
    cuda::check(cudaGetLastError(), "the launch of a coarse operator");
  };
  if (count == 1) return with(std::integral_constant<int, 1>{});
  if (count == 2) return with(std::integral_constant<int, 2>{});
  if (count <= 4) return with(std::integral_constant<int, 4>{});
  if constexpr (lists > 4) {
    if (count <= 8) return with(std::integral_constant<int, 8>{});
    with(std::integral_constant<int, 12>{});
  }
}

template <class T>
bool StencilOnDevice<T>::invert_odd_sites() {
  const cuda::DeviceArray<int> singular = cuda::sent(std::vector<int>{0}, "the inverses of matrices", stencil_advice);
  T* const first = of_site(Parity::Odd);
  const std::size_t n = std::size_t(rows_), bytes = inverse_bytes(n);
  allow_shared(invert_sites<T>, bytes);
  invert_sites<T>
      <<<unsigned(half_), 256, bytes, cuda::stream()>>>(first, site_stride(), odd_.get(), rows_, singular.get());
  cuda::check(cudaGetLastError(), "the launch of inverses");
  const std::size_t of_hop = n * n * sizeof(Complex<T>);
  allow_shared(multiply_hops<T>, of_hop);
  multiply_hops<T><<<dim3(unsigned(half_), 8), 256, of_hop, cuda::stream()>>>(first, site_stride(), rows_);
  cuda::check(cudaGetLastError(), "the launch of products of matrices");
  return cuda::fetched(singular.get(), 1)[0] == 0;
}

}  // namespace

DeviceLimits device_limits() {
  constexpr int besides = 1024;  // bytes of invert_sites() that are not in the matrix
  int device = 0, shared = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  int vectors = most_rows / 2;
  while (vectors > row_unit && inverse_bytes(std::size_t(2 * vectors)) + besides > std::size_t(shared)) {
    vectors -= row_unit;
  }
  return {vectors, most_device_directions};
}

std::unique_ptr<Stencil> make_device_stencil(const FieldDesc& coarse) {
  if (coarse.precision == Precision::Double) return std::make_unique<StencilOnDevice<double>>(coarse);
  return std::make_unique<StencilOnDevice<float>>(coarse);
}

}  // namespace quadrille::multigrid
