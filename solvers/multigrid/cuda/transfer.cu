// Transfers on a GPU: where P and the geometry of aggregates lie, and the launches of transfer_kernels.cuh.
#include "solvers/multigrid/cuda/transfer_kernels.cuh"

#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "solvers/multigrid/chiral_sites.h"
#include "solvers/multigrid/cuda/device_multigrid.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

namespace quadrille::multigrid {
namespace {

constexpr const char* advice = "use fewer `vectors` or larger `blocks`";

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
    return smallest_part(cuda::fetched(kept.get(), kept.count()));
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
  void launch_sums(std::size_t count, const Fields<T>& x, const Target<T>& target, const Chosen& chosen,
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
