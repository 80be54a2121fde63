// The kernels of transfers on a GPU: one thread block works on an aggregate.
//
// Columns of P lie as [aggregate][chirality][vector][site][number], so that sums over the sites of an aggregate and
// products with all of its vectors both read consecutive numbers.
#pragma once

#include "core/random/random.h"
#include "solvers/multigrid/cuda/device_sites.cuh"
#include "solvers/multigrid/transfer.h"

#include <cstdint>

namespace quadrille::multigrid {
namespace {

using device::add_conjugate_product;
using device::add_product;
using device::Complex;
using device::DeviceSites;
using device::load_pair;
using device::Pair;

constexpr int transfer_lists = 6;  ///< right-hand sides of one launch, at most
template <class T>
using Fields = device::FieldList<T, transfer_lists>;

/// The geometry of aggregates and P, as kernels see them.
template <class T>
struct Columns {
  T* data;                          ///< P
  const Aggregates::Site* members;  ///< [aggregate][site], even ones first
  int sites, numbers, vectors;
  std::int64_t coarse_half;

  __device__ __forceinline__ std::int64_t length() const { return std::int64_t(sites) * numbers; }
  __device__ __forceinline__ T* vector(std::int64_t a, int chirality, int v) const {
    return data + ((a * 2 + chirality) * vectors + v) * 2 * length();
  }
  __device__ __forceinline__ Aggregates::Site member(std::int64_t a, int s) const { return members[a * sites + s]; }
};

/// The sites of an aggregate whose numbers are summed up: a part of `lists`, by the kind of the aggregate, and for
/// images by kind and block of the stencil.
struct Chosen {
  const std::int32_t *lists, *begin, *count;
};

/// Where the sums go: into coarse fields, or into a column of the blocks of a stencil that come from one colour.
template <class T>
struct Target {
  Fields<T> coarse;  ///< null: not written
  StencilMatrices<T> stencil;
  const std::int8_t* origins;  ///< Aggregates::origin() of each aggregate; null: into `coarse`
  int first;                   ///< column
};

constexpr int tile_sites = 32;

/// y_r = P^+ x_r over chosen sites. Each warp sums four (chirality, vector) rows, its lanes over pairs of numbers.
template <class T, int R>
__global__ void sum_over_sites(const Columns<T> p, const DeviceSites<T> fine, const __grid_constant__ Fields<T> x,
                               const __grid_constant__ Target<T> target, const std::uint8_t* kinds,
                               const Chosen chosen) {
  extern __shared__ double shared_memory[];
  Pair<T>* const staged = reinterpret_cast<Pair<T>*>(shared_memory);  // [chirality][r][site of the tile][pair]
  const std::int64_t a = blockIdx.x;
  int block = 0, which = int(kinds[a]);
  if (target.origins != nullptr) {
    const int origin = target.origins[a], face = int(blockIdx.y);
    if (origin == -2 || (origin == -1 && face == 1)) return;
    block = origin == -1 ? 0 : 1 + origin + 4 * face;
    which = which * 9 + block;
  }
  const int begin = chosen.begin[which], count = chosen.count[which];
  if (count == 0) return;
  constexpr int together = 4;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32, pairs = fine.pairs();
  const int row = warp * together, chirality = row / p.vectors, v = row % p.vectors;
  Complex<T> sums[R][together] = {};
  for (int first = 0; first < count; first += tile_sites) {
    const int here = min(tile_sites, count - first), items = here * pairs;
    __syncthreads();
    for (int i = int(threadIdx.x); i < items * R; i += int(blockDim.x)) {
      const int r = i / items, item = i % items;
      const Aggregates::Site site = p.member(a, chosen.lists[begin + first + item / pairs]);
      Pair<T> both[2];
      fine.load(x.of[r][int(site.parity)], site.index, item % pairs, both);
      staged[r * tile_sites * pairs + item] = both[0];
      staged[(R + r) * tile_sites * pairs + item] = both[1];
    }
    __syncthreads();
    for (int item = lane; item < items; item += 32) {
      const std::int64_t place =
          2 * (std::int64_t(chosen.lists[begin + first + item / pairs]) * p.numbers + 2 * (item % pairs));
      Pair<T> columns[together];
#pragma unroll
      for (int k = 0; k < together; ++k) columns[k] = load_pair(p.vector(a, chirality, v + k) + place);
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const Pair<T> value = staged[(chirality * R + r) * tile_sites * pairs + item];
#pragma unroll
        for (int k = 0; k < together; ++k) {
          add_conjugate_product(sums[r][k], columns[k].at[0], value.at[0]);
          add_conjugate_product(sums[r][k], columns[k].at[1], value.at[1]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < R; ++r) {
#pragma unroll
    for (int k = 0; k < together; ++k) {
      Complex<T> sum = sums[r][k];
#pragma unroll
      for (int distance = 16; distance > 0; distance /= 2) {
        sum.re += __shfl_xor_sync(0xffffffffu, sum.re, distance);
        sum.im += __shfl_xor_sync(0xffffffffu, sum.im, distance);
      }
      if (lane != 0) continue;
      T* to;
      if (target.origins != nullptr) {
        to = target.stencil.column(a, block, target.first + r) + 2 * (row + k);
      } else {
        T* const field = target.coarse.of[r][a >= p.coarse_half];
        if (field == nullptr) continue;
        to = field + (a % p.coarse_half) * 4 * p.vectors + 2 * (row + k);
      }
      to[0] = sum.re, to[1] = sum.im;
    }
  }
}

/// y_r = P x_r on the sites [begin, begin + count) of each aggregate, a thread for both chiralities of a pair.
template <class T, int R>
__global__ void prolong(const Columns<T> p, const DeviceSites<T> fine, const __grid_constant__ Fields<T> y,
                        const __grid_constant__ Fields<T> x, const std::uint8_t* kinds, const std::int32_t* begins,
                        const std::int32_t* counts) {
  extern __shared__ double shared_memory[];
  Complex<T>* const coarse = reinterpret_cast<Complex<T>*>(shared_memory);  // [chirality][vector][r]
  const std::int64_t a = blockIdx.x;
  const int rows = 2 * p.vectors;
  for (int i = int(threadIdx.x); i < rows * R; i += int(blockDim.x)) {
    const T* const from = x.of[i % R][a >= p.coarse_half] + (a % p.coarse_half) * 2 * rows + 2 * (i / R);
    coarse[i] = {from[0], from[1]};
  }
  __syncthreads();
  const int begin = begins[kinds[a]], pairs = fine.pairs(), items = counts[kinds[a]] * pairs;
  for (int item = int(blockIdx.y * blockDim.x + threadIdx.x); item < items; item += int(gridDim.y * blockDim.x)) {
    Pair<T> sums[R][2] = {};
    const std::int64_t place = 4 * (std::int64_t(begin) * pairs + item);
    for (int v = 0; v < p.vectors; ++v) {
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const Pair<T> column = load_pair(p.vector(a, c, v) + place);
#pragma unroll
        for (int r = 0; r < R; ++r) {
          const Complex<T> value = coarse[(c * p.vectors + v) * R + r];
          add_product(sums[r][c].at[0], column.at[0], value);
          add_product(sums[r][c].at[1], column.at[1], value);
        }
      }
    }
    const Aggregates::Site site = p.member(a, begin + item / pairs);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      T* const field = y.of[r][int(site.parity)];
      if (field != nullptr) fine.store(field, site.index, item % pairs, sums[r]);
    }
  }
}

template <class T>
__global__ void take_vector(const Columns<T> p, const DeviceSites<T> fine, const Fields<T> from, int k) {
  const std::int64_t a = blockIdx.x;
  const int pairs = fine.pairs();
  for (int item = int(threadIdx.x); item < p.sites * pairs; item += int(blockDim.x)) {
    const Aggregates::Site site = p.member(a, item / pairs);
    Pair<T> both[2];
    fine.load(from.of[0][int(site.parity)], site.index, item % pairs, both);
    for (int c = 0; c < 2; ++c) {
      T* const to = p.vector(a, c, k) + 4 * std::int64_t(item);
      for (int n = 0; n < 2; ++n) to[2 * n] = both[c].at[n].re, to[2 * n + 1] = both[c].at[n].im;
    }
  }
}

template <class T>
__global__ void put_column(const Columns<T> p, const DeviceSites<T> fine, const Fields<T> into, int k, int chirality,
                           const std::uint8_t* colours, int colour) {
  const std::int64_t a = blockIdx.x;
  const int pairs = fine.pairs();
  const bool filled = colours[a] == colour;
  for (int item = int(threadIdx.x); item < p.sites * pairs; item += int(blockDim.x)) {
    const Aggregates::Site site = p.member(a, item / pairs);
    Pair<T> both[2] = {};
    if (filled) both[chirality] = load_pair(p.vector(a, chirality, k) + 4 * std::int64_t(item));
    fine.store(into.of[0][int(site.parity)], site.index, item % pairs, both);
  }
}

constexpr int gram_threads = 256;

/// Gram-Schmidt, twice, of the vectors of one aggregate and chirality, with sums in double. `kept`: the smallest part
/// of a vector's norm that is not in the span of those before it.
template <class T>
__global__ void __launch_bounds__(gram_threads) orthonormalise_vectors(const Columns<T> p, double* kept) {
  constexpr int warps = gram_threads / 32;
  __shared__ Complex<double> taken[most_site_numbers / 4];
  __shared__ double of_warps[warps];
  const std::int64_t a = blockIdx.x / 2, length = p.length();
  const int chirality = int(blockIdx.x % 2), warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const auto norm2 = [&](const T* w) {
    double sum = 0;
    for (std::int64_t i = threadIdx.x; i < 2 * length; i += gram_threads) sum += double(w[i]) * double(w[i]);
    for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    __syncthreads();
    if (lane == 0) of_warps[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < warps; ++i) sum += of_warps[i];
    return sum;
  };
  double least = 1;
  for (int k = 0; k < p.vectors; ++k) {
    T* const w = p.vector(a, chirality, k);
    const double before = norm2(w);
    for (int pass = 0; pass < 2; ++pass) {
      for (int j = warp; j < k; j += warps) {
        const T* const v = p.vector(a, chirality, j);
        Complex<double> sum{};
        for (std::int64_t i = lane; i < length; i += 32) {
          add_conjugate_product(sum, {double(v[2 * i]), double(v[2 * i + 1])},
                                {double(w[2 * i]), double(w[2 * i + 1])});
        }
        for (int distance = 16; distance > 0; distance /= 2) {
          sum.re += __shfl_xor_sync(0xffffffffu, sum.re, distance);
          sum.im += __shfl_xor_sync(0xffffffffu, sum.im, distance);
        }
        if (lane == 0) taken[j] = {-sum.re, -sum.im};
      }
      __syncthreads();
      for (std::int64_t i = threadIdx.x; i < length; i += gram_threads) {
        Complex<double> left{double(w[2 * i]), double(w[2 * i + 1])};
        for (int j = 0; j < k; ++j) {
          const T* const v = p.vector(a, chirality, j) + 2 * i;
          add_product(left, taken[j], {double(v[0]), double(v[1])});
        }
        w[2 * i] = T(left.re), w[2 * i + 1] = T(left.im);
      }
      __syncthreads();
    }
    const double after = norm2(w), part = before > 0 ? sqrt(after / before) : 0;
    if (!(part >= least)) least = part;
    constexpr double nothing = sizeof(T) == 4 ? 1e-7 : 1e-12;
    const double scale = part > nothing ? 1 / sqrt(after) : 0;
    for (std::int64_t i = threadIdx.x; i < 2 * length; i += gram_threads) w[i] = T(scale * double(w[i]));
    __syncthreads();
  }
  if (threadIdx.x == 0) kept[blockIdx.x] = least;
}

/// The streams of a site are numbered by parity and even-odd index.
template <class T>
__global__ void put_noise(const DeviceSites<T> sites, T* field, int parity, std::int64_t count, std::uint64_t seed) {
  const std::int64_t site = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (site >= count) return;
  SiteRandom random(seed, RandomPurpose::GaussianSpinor, parity * count + site);
  for (int pair = 0; pair < sites.pairs(); ++pair) {
    Pair<T> both[2];
    for (auto& one : both) {
      for (auto& number : one.at) number.re = T(random.normal()), number.im = T(random.normal());
    }
    sites.store(field, site, pair, both);
  }
}

}  // namespace
}  // namespace quadrille::multigrid
