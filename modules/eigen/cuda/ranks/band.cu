#include "modules/eigen/cuda/ranks/band.h"

#include "core/comm/agreement.h"
#include "modules/eigen/cuda/band/band_steps.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"

#include <optional>
#include <vector>

namespace quadrille::eigen {

static_assert(narrowest_gpu_block == bandwidth && widest_gpu_block <= deferred);

namespace {

/// Rows first.. of a matrix by pieces: those of the columns that a rank has are together, rank after rank.
struct RowPieces {
  std::int64_t first = 0, block = 1;
  int ranks = 1;
  std::int64_t before[most_band_ranks] = {}, count[most_band_ranks] = {}, offset[most_band_ranks] = {};

  RowPieces(const Layout& layout, std::int64_t first_row, std::int64_t columns)
      : first(first_row), block(layout.block), ranks(layout.columns) {
    std::int64_t rows = 0;
    for (int r = 0; r < ranks; ++r) {
      before[r] = layout.columns_before(r, first);
      count[r] = layout.local_columns(r) - before[r];
      offset[r] = rows * columns;
      rows += count[r];
    }
  }
  /// Of element (row, column) of the matrix's rows first..
  __device__ std::int64_t place(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = first + row, turn = i / block;
    const int r = int(turn % ranks);
    return offset[r] + turn / ranks * block + i % block - before[r] + column * count[r];
  }
};

/// to (rows x columns) from its pieces.
template <class T>
__global__ void join_rows(const __grid_constant__ RowPieces pieces, const T* from, std::int64_t rows, T* to,
                          std::int64_t ld) {
  const std::int64_t row = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x, column = blockIdx.y;
  if (row < rows) to[row + column * ld] = from[pieces.place(row, column)];
}
/// Rows of one piece, which this rank's columns are.
template <class T>
__global__ void take_rows(Layout layout, int rank, std::int64_t local, std::int64_t first, const T* from,
                          std::int64_t ld, std::int64_t rows, T* to) {
  const std::int64_t row = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x, column = blockIdx.y;
  if (row >= rows) return;
  const std::int64_t own = local + row,
                     i = (own / layout.block * layout.columns + rank) * layout.block + own % layout.block;
  to[row + column * rows] = from[i - first + column * ld];
}

constexpr int row_threads = 128;
dim3 grid_of(std::int64_t rows, std::int64_t columns) {
  return {unsigned((rows + row_threads - 1) / row_threads), unsigned(columns)};
}

/// The numbers that a rank adds to a reduction: its pieces of rows.
template <class T>
struct Pieces {
  explicit Pieces(const Layout& layout)
      : all(device_array<T>(layout.n * bandwidth)),
        y(device_array<T>(most_columns(layout) * layout.block)),
        z(device_array<T>(most_columns(layout) * layout.block)) {}
  static std::int64_t most_columns(const Layout& layout) { return layout.local_columns(0); }
  cuda::DeviceArray<T> all;   ///< n x b
  cuda::DeviceArray<T> y, z;  ///< columns of this rank x deferred
};

/// Z := A W for the trailing A from row and column `first` on.
template <class T>
void multiply_own(Exchange& exchange, const Columns<T>& a, std::int64_t first, const T* w, std::int64_t ld,
                  const Pieces<T>& pieces, T* z) {
  constexpr std::int64_t b = bandwidth;
  const std::int64_t n = a.n(), rows = n - first, before = a.before(first), own = a.count() - before;
  const RowPieces by_rank(a.layout, first, b);
  product(Op::adjoint, Op::none, own, b, rows, 1, a.part + first + before * n, n, w, ld, 0,
          pieces.all.get() + by_rank.offset[a.rank], own);
  std::vector<DevicePiece> shared;
  for (int r = 0; r < by_rank.ranks; ++r) {
    shared.push_back({r, pieces.all.get() + by_rank.offset[r], std::size_t(by_rank.count[r] * b) * sizeof(T)});
  }
  exchange.share(shared);
  join_rows<T><<<grid_of(rows, b), row_threads, 0, cuda::stream()>>>(by_rank, pieces.all.get(), rows, z, ld);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

/// The trailing columns of this rank take the updates of k columns, whose Y and Z begin at row `top`.
template <class T>
void update_own(const Columns<T>& a, std::int64_t top, std::int64_t first, std::int64_t k, const Workspace<T>& work,
                const Pieces<T>& pieces) {
  const std::int64_t n = a.n(), ld = n - top, before = a.before(first), own = a.count() - before;
  if (own == 0) return;
  const auto take = [&](const T* from, T* to) {
    take_rows<T><<<grid_of(own, k), row_threads, 0, cuda::stream()>>>(a.layout, a.rank, before, top, from, ld, own, to);
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
  };
  take(work.y.get(), pieces.y.get());
  take(work.z.get(), pieces.z.get());
  T* const rest = a.part + first + before * n;
  const T *const y = work.y.get() + (first - top), *const z = work.z.get() + (first - top);
  product(Op::none, Op::adjoint, n - first, own, k, -1, y, ld, pieces.z.get(), own, 1, rest, n);
  product(Op::none, Op::adjoint, n - first, own, k, -1, z, ld, pieces.y.get(), own, 1, rest, n);
}

template <class T>
void share_band(Exchange& exchange, const Columns<T>& a, T* band) {
  std::vector<DevicePiece> pieces;
  for (std::int64_t j = 0; j < a.n(); j += a.layout.block) {
    pieces.push_back({a.owner(j), band + j * 2 * bandwidth, std::size_t(a.width(j) * 2 * bandwidth) * sizeof(T)});
    if (!a.has(j)) continue;
    take_band(a.n(), j, a.width(j), a.at(0, j), a.n(), band);
  }
  exchange.share(pieces);
}

}  // namespace

template <class T>
double band_bytes(const Layout& layout) {
  const double block = double(layout.block);
  return sizeof(T) * (double(layout.n) * (2 * block + 4 * bandwidth + 1) + 2 * double(layout.local_columns(0)) * block);
}

template <class T>
Band<T> reduce_to_band(Exchange& exchange, const Columns<T>& a) {
  constexpr std::int64_t b = bandwidth;
  const std::int64_t n = a.n(), block = a.layout.block;
  Band<T> out;
  std::optional<Workspace<T>> room;
  std::optional<Pieces<T>> parts;
  all_or_none(exchange.ranks(), [&] {
    out = {device_array<T>(2 * b * n), zeros<T>(n + b)};
    room.emplace(n, block);
    parts.emplace(a.layout);
  });
  const Workspace<T>& work = *room;
  const Pieces<T>& pieces = *parts;
  for (std::int64_t top = 0; top + b < n; top += block) {
    const std::int64_t ld = n - top;  // Y and Z of a block begin at its first row
    T *const y = work.y.get(), *const z = work.z.get();
    std::int64_t k = 0, first = 0;
    for (; k < block && top + k + b < n; k += b) {
      const std::int64_t j = top + k, row = k + b;
      first = j + b;
      if (a.has(top)) factor_columns(a.at(first, j), n, n - first, y + row + k * ld, ld, out.tau.get() + j, work);
      const DevicePiece panel[] = {{a.owner(top), y + k * ld, std::size_t(ld * b) * sizeof(T)},
                                   {a.owner(top), out.tau.get() + j, std::size_t(b) * sizeof(T)}};
      exchange.share(panel);
      T* const w = work.w.get() + row;
      form_w(ld, n - first, y + row + k * ld, out.tau.get() + j, work, w);
      multiply_own(exchange, a, first, w, ld, pieces, z + row + k * ld);
      form_z(ld, row, k, work);
      const bool last = k + b >= block || first + b >= n;
      if (!last && a.has(top)) update_columns(ld, row, k + b, a.at(first, first), n, work);
    }
    update_own(a, top, first, k, work, pieces);
  }
  share_band(exchange, a, out.band.get());
  return out;
}

template double band_bytes<double>(const Layout&);
template double band_bytes<Complex>(const Layout&);
template Band<double> reduce_to_band(Exchange&, const Columns<double>&);
template Band<Complex> reduce_to_band(Exchange&, const Columns<Complex>&);

}  // namespace quadrille::eigen
