// Transfers on a GPU: one thread block works on an aggregate.
//
// Columns of P lie as [aggregate][chirality][vector][site][number], so that sums over the sites of an aggregate and
// products with all of its vectors both read consecutive numbers.
#include "solvers/multigrid/transfer.h"

#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "core/random/random.h"
#include "solvers/multigrid/chiral_sites.h"
#include "solvers/multigrid/cuda/device_multigrid.h"
#include "solvers/multigrid/cuda/device_sites.cuh"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

namespace quadrille::multigrid {
namespace {

using device::add_conjugate_product;
using device::add_product;
using device::Complex;
using device::DeviceSites;
using device::load_pair;
using device::Pair;

constexpr const char* advice = "use fewer `vectors` or larger `blocks`";
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

/// Sites of each aggregate whose numbers are summed up, and where the sums of vector v go.
template <class T>
struct Chosen {
  const std::int32_t* lists;  ///< null: `range`
  /// By kind of the aggregate (and blockIdx.y): where its list begins, how many there are; none: nothing is written.
  const std::int32_t* begin;
  const std::int32_t* count;
};

/// For the images of a colour: which list of an aggregate and which block of the stencil they belong to. For
/// restriction one list of each kind, and coarse fields as targets.
template <class T>
struct Target {
  Fields<T> coarse;  ///< restriction; [0][0] null: the stencil
  StencilMatrices<T> stencil;
  const std::int8_t* origins;  ///< [aggregate], of the images' colour
  int first;                   ///< column
};

constexpr int tile_sites = 32;

/// y_r = P^+ x_r over chosen sites. Each warp sums four (chirality, vector) rows, its lanes over pairs of numbers.
template <class T, int R>
__global__ void sum_over_sites(const Columns<T> p, const DeviceSites<T> fine, const __grid_constant__ Fields<T> x,
                               const __grid_constant__ Target<T> target, const std::uint8_t* kinds,
                               const Chosen<T> chosen) {
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

template <class T>
void set_fields(Fields<T>& list, int r, const Field& field) {
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    list.of[r][int(p)] = field.holds(p) ? static_cast<T*>(const_cast<Field&>(field).numbers(p)) : nullptr;
  }
}

/// call(constant) with the smallest number of right-hand sides of a kernel that holds `count`.
template <class Call>
void with_list_size(std::size_t count, Call&& call) {
  if (count <= 1) return call(std::integral_constant<int, 1>{});
  if (count <= 2) return call(std::integral_constant<int, 2>{});
  if (count <= 4) return call(std::integral_constant<int, 4>{});
  call(std::integral_constant<int, transfer_lists>{});
}

template <class T>
class DeviceTransfer final : public Transfer {
 public:
  DeviceTransfer(std::shared_ptr<const Aggregates> aggregates, const FieldDesc& fine, int vectors)
      : aggregates_(std::move(aggregates)),
        fine_(fine),
        coarse_(multigrid::coarse_desc(aggregates_->coarse(), vectors, fine.precision, *fine.backend)),
        vectors_(vectors),
        sites_(fine),
        columns_(2 * aggregates_->count() * aggregates_->sites() * sites_.numbers() * 2 * vectors, "multigrid's P",
                 advice) {
    send_geometry();
  }

  const FieldDesc& fine_desc() const override { return fine_; }
  const FieldDesc& coarse_desc() const override { return coarse_; }
  const Aggregates& aggregates() const override { return *aggregates_; }
  int vectors() const override { return vectors_; }
  double bytes() const override { return double(columns_.count()) * sizeof(T); }

  void take(int k, const Field& vector) override {
    Fields<T> from{};
    set_fields(from, 0, vector);
    take_vector<T><<<blocks(), 128, 0, cuda::stream()>>>(view(), sites_, from, k);
    cuda::check(cudaGetLastError(), "the launch of a copy of test vectors");
  }
  double orthonormalise() override {
    const cuda::DeviceArray<double> kept(2 * aggregates_->count(), "the quality of test vectors", advice);
    orthonormalise_vectors<T><<<2 * blocks(), gram_threads, 0, cuda::stream()>>>(view(), kept.get());
    cuda::check(cudaGetLastError(), "the launch of orthonormalisation");
    const std::vector<double> all = cuda::fetched(kept.get(), kept.count());
    return *std::min_element(all.begin(), all.end());
  }
  void column(Field& v, int k, int chirality, int colour) const override {
    Fields<T> into{};
    set_fields(into, 0, v);
    put_column<T><<<blocks(), 128, 0, cuda::stream()>>>(view(), sites_, into, k, chirality, colours_.get(), colour);
    cuda::check(cudaGetLastError(), "the launch of a column of P");
  }
  void restrict_each(OperandList list) const override {
    for (std::size_t first = 0; first < list.size(); first += at_once()) {
      const std::size_t count = std::min(at_once(), list.size() - first);
      Target<T> target{};
      Fields<T> x{};
      for (std::size_t r = 0; r < transfer_lists; ++r) {
        set_fields(x, int(r), *list[first + std::min(r, count - 1)].x);
        if (r < count) set_fields(target.coarse, int(r), *list[first + r].y);
      }
      const std::int32_t* const ranges = ranges_.get() + 4 * int(list.front().x->desc().subset);
      launch_sums(count, x, target, {lists_.get(), ranges, ranges + 2}, 1);
    }
  }
  void prolong_each(OperandList list) const override {
    const std::int32_t* const ranges = ranges_.get() + 4 * int(list.front().y->desc().subset);
    const bool whole = list.front().y->desc().subset == Subset::Full;
    for (std::size_t first = 0; first < list.size(); first += at_once()) {
      const std::size_t count = std::min(at_once(), list.size() - first);
      Fields<T> x{}, y{};
      for (std::size_t r = 0; r < transfer_lists; ++r) {
        set_fields(x, int(r), *list[first + std::min(r, count - 1)].x);
        if (r < count) set_fields(y, int(r), *list[first + r].y);
      }
      with_list_size(count, [&](auto constant) {
        constexpr int R = constant, threads = 128;
        const int items = aggregates_->sites() * sites_.pairs() / (whole ? 1 : 2);
        const dim3 grid(blocks(), unsigned((items + threads - 1) / threads));
        prolong<T, R><<<grid, threads, sizeof(Complex<T>) * std::size_t(2 * vectors_ * R), cuda::stream()>>>(
            view(), sites_, y, x, kinds_.get(), ranges, ranges + 2);
      });
      cuda::check(cudaGetLastError(), "the launch of prolongation");
    }
  }
  void project(std::span<const Field* const> images, int colour, StencilMatrices<float> into,
               int first) const override {
    if constexpr (std::is_same_v<T, float>) project_each(images, colour, into, first);
  }
  void project(std::span<const Field* const> images, int colour, StencilMatrices<double> into,
               int first) const override {
    if constexpr (std::is_same_v<T, double>) project_each(images, colour, into, first);
  }

 private:
  Columns<T> view() const {
    return {columns_.get(),   members_.get(), aggregates_->sites(),
            sites_.numbers(), vectors_,       aggregates_->coarse().half_volume()};
  }
  unsigned blocks() const { return unsigned(aggregates_->count()); }
  /// As registers allow.
  std::size_t at_once() const { return sizeof(T) == 8 || vectors_ > 32 ? 2 : transfer_lists; }

  void send_geometry();
  void launch_sums(std::size_t count, const Fields<T>& x, const Target<T>& target, const Chosen<T>& chosen,
                   unsigned lists) const {
    with_list_size(count, [&](auto constant) {
      constexpr int R = constant;
      const std::size_t bytes = sizeof(Pair<T>) * std::size_t(2 * R * tile_sites * sites_.pairs());
      QUADRILLE_CUDA_CHECK(
          cudaFuncSetAttribute(sum_over_sites<T, R>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
      const unsigned threads = unsigned(2 * vectors_ / 4 * 32);
      sum_over_sites<T, R>
          <<<dim3(blocks(), lists), threads, bytes, cuda::stream()>>>(view(), sites_, x, target, kinds_.get(), chosen);
    });
    cuda::check(cudaGetLastError(), "the launch of sums over blocks");
  }
  void project_each(std::span<const Field* const> images, int colour, StencilMatrices<T> into, int first) const {
    Target<T> target{};
    target.stencil = into;
    target.origins = origins_.get() + colour * aggregates_->count();
    Fields<T> x{};
    const std::size_t most = std::min<std::size_t>(4, at_once());
    for (std::size_t begin = 0; begin < images.size(); begin += most) {
      const std::size_t count = std::min(most, images.size() - begin);
      if (count == 3) throw Error(ErrorCode::internal, "images of columns come in powers of two");  // no guard
      for (std::size_t r = 0; r < count; ++r) set_fields(x, int(r), *images[begin + r]);
      target.first = first + int(begin);
      launch_sums(count, x, target, {lists_.get(), face_begins_.get(), face_counts_.get()}, 2);
    }
  }

  std::shared_ptr<const Aggregates> aggregates_;
  FieldDesc fine_, coarse_;
  int vectors_;
  DeviceSites<T> sites_;
  cuda::DeviceArray<T> columns_;
  cuda::DeviceArray<Aggregates::Site> members_;
  cuda::DeviceArray<std::uint8_t> kinds_, colours_;
  cuda::DeviceArray<std::int8_t> origins_;                     ///< [colour][aggregate]
  cuda::DeviceArray<std::int32_t> ranges_;                     ///< [subset]: begins by kind, counts by kind
  cuda::DeviceArray<std::int32_t> lists_;                      ///< all sites, then faces
  cuda::DeviceArray<std::int32_t> face_begins_, face_counts_;  ///< [kind][block of the stencil]
};

template <class T>
void DeviceTransfer<T>::send_geometry() {
  const Aggregates& all = *aggregates_;
  const std::int64_t count = all.count();
  std::vector<Aggregates::Site> members;
  std::vector<std::uint8_t> kinds, colours;
  std::vector<std::int8_t> origins;
  std::array<std::int64_t, 2> example = {0, 0};  // an aggregate of each kind
  for (std::int64_t a = 0; a < count; ++a) {
    const auto sites = all.sites_of(a);
    members.insert(members.end(), sites.begin(), sites.end());
    kinds.push_back(std::uint8_t(all.kind(a)));
    colours.push_back(std::uint8_t(all.colour(a)));
    example[std::size_t(all.kind(a))] = a;
  }
  for (int colour = 0; colour < Aggregates::colours; ++colour) {
    for (std::int64_t a = 0; a < count; ++a) origins.push_back(std::int8_t(all.origin(a, colour)));
  }
  std::vector<std::int32_t> ranges, lists, begins, counts;
  const auto evens = [&](int kind) { return all.evens(example[std::size_t(kind)]); };
  for (const Subset subset : {Subset::Even, Subset::Odd, Subset::Full}) {
    for (const int kind : {0, 1}) ranges.push_back(subset == Subset::Odd ? evens(kind) : 0);
    for (const int kind : {0, 1}) {
      ranges.push_back(subset == Subset::Full   ? all.sites()
                       : subset == Subset::Even ? evens(kind)
                                                : all.sites() - evens(kind));
    }
  }
  for (int s = 0; s < all.sites(); ++s) lists.push_back(s);
  for (const int kind : {0, 1}) {
    begins.push_back(0);
    counts.push_back(all.sites());
    for (int direction = 0; direction < 8; ++direction) {
      const auto& face = all.face(example[std::size_t(kind)], direction);
      begins.push_back(std::int32_t(lists.size()));
      counts.push_back(std::int32_t(face.size()));
      lists.insert(lists.end(), face.begin(), face.end());
    }
  }
  constexpr const char* what = "the blocks of multigrid";
  members_ = cuda::sent(members, what, advice);
  kinds_ = cuda::sent(kinds, what, advice);
  colours_ = cuda::sent(colours, what, advice);
  origins_ = cuda::sent(origins, what, advice);
  ranges_ = cuda::sent(ranges, what, advice);
  lists_ = cuda::sent(lists, what, advice);
  face_begins_ = cuda::sent(begins, what, advice);
  face_counts_ = cuda::sent(counts, what, advice);
}

template <class T>
void fill(Field& x, std::uint64_t seed) {
  const std::int64_t count = x.lattice().half_volume();
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    if (!x.holds(p)) continue;
    constexpr int threads = 128;
    const unsigned blocks = unsigned((count + threads - 1) / threads);
    put_noise<T><<<blocks, threads, 0, cuda::stream()>>>(DeviceSites<T>(x.desc()), static_cast<T*>(x.numbers(p)),
                                                         int(p), count, seed);
    cuda::check(cudaGetLastError(), "the launch of noise");
  }
}

}  // namespace

std::unique_ptr<Transfer> make_device_transfer(std::shared_ptr<const Aggregates> aggregates, const FieldDesc& fine,
                                               int vectors) {
  if (fine.precision == Precision::Double) {
    return std::make_unique<DeviceTransfer<double>>(std::move(aggregates), fine, vectors);
  }
  return std::make_unique<DeviceTransfer<float>>(std::move(aggregates), fine, vectors);
}

void fill_with_noise_on_device(Field& x, std::uint64_t seed) {
  x.desc().precision == Precision::Double ? fill<double>(x, seed) : fill<float>(x, seed);
}

}  // namespace quadrille::multigrid
