// Memory, stream, staging and reductions of one GPU.
#include "core/backend/cuda/cuda_backend.h"

#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/owned.h"
#include "core/backend/cuda/runtime.h"
#include "core/backend/cuda/transfer.h"
#include "core/blas/call.h"
#include "core/error.h"
#include "core/field/field.h"
#include "core/field/propagator.h"
#include "core/layout/grouped_layout.h"
#include "core/system/memory.h"
#include "core/system/team.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

namespace quadrille {
namespace cuda {

namespace {

std::string free_host_memory() {
  const auto bytes = [](int pages) { return ::sysconf(pages) * ::sysconf(_SC_PAGESIZE); };
  return fmt::format("{} of {} bytes are free in the host's memory", bytes(_SC_AVPHYS_PAGES), bytes(_SC_PHYS_PAGES));
}

/// `more` is asked for when there was too little memory.
template <class More>
void check_or_say(cudaError_t status, const char* call, More&& more) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // an error that does not stick must not be found again by the next call
  const bool short_of_memory = status == cudaErrorMemoryAllocation;
  const std::string said = fmt::format("CUDA: {}: {} ({}){}", call, cudaGetErrorString(status),
                                       cudaGetErrorName(status), short_of_memory ? more() : std::string());
  if (short_of_memory) throw NotEnoughMemory(said);
  throw Error(ErrorCode::unsupported, said);
}

}  // namespace

std::string free_device_memory() {
  int device = 0;
  cudaDeviceProp properties{};
  std::size_t free = 0, total = 0;
  const bool named =
      cudaGetDevice(&device) == cudaSuccess && cudaGetDeviceProperties(&properties, device) == cudaSuccess;
  const bool counted = cudaMemGetInfo(&free, &total) == cudaSuccess;
  (void)cudaGetLastError();
  const std::string place = named ? fmt::format("on the GPU {}", properties.name) : "on the GPU";
  if (!counted) return fmt::format("the free memory {} is not known", place);
  return fmt::format("{} of {} bytes are free {}", free, total, place);
}

void check(cudaError_t status, const char* call) {
  check_or_say(status, call, [] { return "; " + free_device_memory(); });
}

void check_memory(cudaError_t status, const char* call, const MemoryNeed& need) {
  check_or_say(status, call, [&] {
    const std::string bytes = need.bytes == 0 ? "memory" : fmt::format("{} bytes", need.bytes);
    return fmt::format(": {} needs {}; {}; {}", need.what, bytes,
                       need.of_host ? free_host_memory() : free_device_memory(), need.advice);
  });
}

int count_devices() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess) return devices;
  (void)cudaGetLastError();
  return 0;
}

std::string trouble() {
  static const std::string reason = [] {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess) {
      (void)cudaGetLastError();
      return fmt::format("no usable GPU ({})", cudaGetErrorString(status));
    }
    if (devices == 0) return std::string("there is no GPU");
    int device = 0, major = 0, pools = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
        cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device) != cudaSuccess) {
      return fmt::format("the properties of the GPU cannot be read ({})", cudaGetErrorString(cudaGetLastError()));
    }
    if (major < 8) return fmt::format("the GPU has compute capability {}.x; at least 8.0 is needed", major);
    return std::string(pools != 0 ? "" : "the GPU's driver has no memory pools");
  }();
  return reason;
}

namespace {

constexpr std::size_t staging_bytes = std::size_t(16) << 20;
constexpr const char* field_advice = "use a smaller lattice, a lower precision or fewer numbers per link";

Spinor spinor(const Field& field, Parity p) {
  return {const_cast<void*>(field.numbers(p)), const_cast<float*>(field.norms(p)), field.desc().precision};
}

PropagatorColumns columns(const Propagator& propagator) {
  PropagatorColumns all{};
  for (std::size_t c = 0; c < propagator.columns.size(); ++c) {
    for (Parity p : {Parity::Even, Parity::Odd}) {
      all.numbers[int(p)][c] = static_cast<double*>(const_cast<void*>(propagator.columns[c].numbers(p)));
    }
  }
  const Dims& dims = propagator.desc().lattice->dims();
  std::copy(dims.begin(), dims.end(), all.extents);
  all.rotate = propagator.sink == Propagator::Sink::ukqcd;
  return all;
}

template <class F>
void for_each_parity(const Field& field, F&& f) {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (field.holds(p)) f(p);
  }
}

/// Two pinned buffers: one is filled, by all threads, while the other travels. Memory that is pinned needs none.
class Staging {
 public:
  explicit Staging(cudaStream_t stream) : stream_(stream) {
    for (Buffer& buffer : buffers_) {
      buffer.memory = make_pinned(staging_bytes, cudaHostAllocDefault, "a buffer for copies to and from the GPU");
      buffer.travelled = make_event();
    }
  }

  void in(void* to, const void* host, std::size_t bytes) {
    if (is_pinned(host)) return copy(to, host, bytes, cudaMemcpyHostToDevice);
    for_each_piece(bytes, [&](Buffer& buffer, std::size_t at, std::size_t piece) {
      QUADRILLE_CUDA_CHECK(cudaEventSynchronize(buffer.travelled.get()));
      team_copy(buffer.memory.get(), static_cast<const char*>(host) + at, piece);
      QUADRILLE_CUDA_CHECK(
          cudaMemcpyAsync(static_cast<char*>(to) + at, buffer.memory.get(), piece, cudaMemcpyHostToDevice, stream_));
      QUADRILLE_CUDA_CHECK(cudaEventRecord(buffer.travelled.get(), stream_));
    });
    QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  void out(void* host, const void* from, std::size_t bytes) {
    if (is_pinned(host)) return copy(host, from, bytes, cudaMemcpyDeviceToHost);
    Buffer* before = nullptr;
    std::size_t before_at = 0, before_piece = 0;
    const auto collect = [&] {
      if (before == nullptr) return;
      QUADRILLE_CUDA_CHECK(cudaEventSynchronize(before->travelled.get()));
      team_copy(static_cast<char*>(host) + before_at, before->memory.get(), before_piece);
    };
    for_each_piece(bytes, [&](Buffer& buffer, std::size_t at, std::size_t piece) {
      QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(buffer.memory.get(), static_cast<const char*>(from) + at, piece,
                                           cudaMemcpyDeviceToHost, stream_));
      QUADRILLE_CUDA_CHECK(cudaEventRecord(buffer.travelled.get(), stream_));
      collect();
      before = &buffer;
      before_at = at;
      before_piece = piece;
    });
    collect();
  }

 private:
  struct Buffer {
    PinnedMemory memory;
    OwnedEvent travelled;
  };

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind way) {
    QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, way, stream_));
    QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }

  template <class F>
  void for_each_piece(std::size_t bytes, F&& f) {
    for (std::size_t at = 0, turn = 0; at < bytes; at += staging_bytes, ++turn) {
      f(buffers_[turn % 2], at, std::min(staging_bytes, bytes - at));
    }
  }

  cudaStream_t stream_;
  Buffer buffers_[2];
};

/// A stream, what travels and the sums that arrive on it.
class CudaLane final : public Lane {
 public:
  CudaLane() : stream_(make_stream()) {
    constexpr std::size_t arrival_bytes = 256, after_result = 128;
    arrivals_ = make_pinned(arrival_bytes, cudaHostAllocMapped, "the results of sums");
    std::memset(arrivals_.get(), 0, arrival_bytes);
    reduction_.result = reinterpret_cast<double*>(arrivals_.get());
    reduction_.arrived = reinterpret_cast<unsigned*>(arrivals_.get() + after_result);
  }
  ~CudaLane() override {
    for (void* memory : {static_cast<void*>(reduction_.partial), static_cast<void*>(reduction_.blocks_done)}) {
      if (memory != nullptr) (void)cudaFreeAsync(memory, stream());
    }
  }
  CudaLane(const CudaLane&) = delete;
  CudaLane& operator=(const CudaLane&) = delete;

  cudaStream_t stream() const { return stream_.get(); }
  Staging& staging() { return staging_ ? *staging_ : staging_.emplace(stream()); }
  /// `take`: memory for work in this lane, of so many bytes and for what.
  template <class Take>
  Reduction begin_reduction(std::size_t blocks, int sums, const Take& take);
  void finish_reduction(const Reduction& reduction, double* sums, int count) const;

 private:
  OwnedStream stream_;
  std::optional<Staging> staging_;
  PinnedMemory arrivals_;
  Reduction reduction_{};
  std::size_t partial_sums_ = 0;
};

template <class Take>
Reduction CudaLane::begin_reduction(std::size_t blocks, int sums, const Take& take) {
  if (reduction_.blocks_done == nullptr) {
    reduction_.blocks_done = static_cast<unsigned*>(take(sizeof(unsigned), "counting blocks"));
    QUADRILLE_CUDA_CHECK(cudaMemsetAsync(reduction_.blocks_done, 0, sizeof(unsigned), stream()));
  }
  const std::size_t wanted = blocks * std::size_t(sums);
  if (wanted > partial_sums_) {
    if (reduction_.partial != nullptr) (void)cudaFreeAsync(reduction_.partial, stream());
    reduction_.partial = nullptr;
    partial_sums_ = 0;
    reduction_.partial = static_cast<double*>(take(wanted * sizeof(double), "a sum"));
    partial_sums_ = wanted;
  }
  ++reduction_.ticket;
  return reduction_;
}

// Looking at memory that the device writes takes a few microseconds less than waiting for the stream. Now and then the
// stream is asked all the same, so that an error ends the wait.
void CudaLane::finish_reduction(const Reduction& reduction, double* sums, int count) const {
  for (unsigned looks = 1; *reduction.arrived != reduction.ticket; ++looks) {
    if (looks % 65536 != 0) continue;
    const cudaError_t status = cudaStreamQuery(stream());
    if (status == cudaErrorNotReady) continue;
    check(status, "a kernel with sums");
    if (*reduction.arrived != reduction.ticket) {
      throw Error(ErrorCode::internal, "a CUDA kernel ended without its sums");
    }
  }
  std::atomic_thread_fence(std::memory_order_acquire);
  for (int s = 0; s < count; ++s) sums[s] = reduction.result[s];
}

thread_local CudaLane* lane_here = nullptr;  ///< null: the first one

class CudaBackend final : public Backend {
 public:
  CudaBackend() {
    const std::string reason = trouble();
    if (!reason.empty()) throw Error(ErrorCode::unsupported, "CUDA: " + reason);
    QUADRILLE_CUDA_CHECK(cudaGetDevice(&device_));
    QUADRILLE_CUDA_CHECK(cudaGetDeviceProperties(&properties_, device_));
    make_pool();
    first_.emplace();
  }

  std::string name() const override { return "cuda"; }
  std::string architecture(const Layout&, Precision) const override {
    return fmt::format("sm_{}{}", properties_.major, properties_.minor);
  }
  std::string device() const override { return properties_.name; }
  Layout layout(const Lattice&, Precision precision) const override { return grouped_layout(precision); }
  bool host_memory() const override { return false; }

  void* allocate(std::size_t bytes) override;
  void release(void* memory, std::size_t bytes) noexcept override {
    (void)cudaFreeAsync(memory, stream());  // fails only after a fatal error, which an earlier call has reported
    allocated_ -= bytes;
  }
  void copy_in(void* to, const void* host, std::size_t bytes) override {
    lane().staging().in(to, host, bytes);
    copied_ += bytes;
  }
  void copy_out(void* host, const void* from, std::size_t bytes) override {
    lane().staging().out(host, from, bytes);
    copied_ += bytes;
  }
  std::unique_ptr<TransferBuffer> transfer_buffer(std::size_t bytes) override { return make_transfer_buffer(bytes); }
  void synchronize() override { QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream())); }

  MemoryPlace place_of(const void* memory) const override;
  void wait_for(void* stream) override;

  void convert(Field& dst, const Field& src) override {
    for_each_parity(dst, [&](Parity p) {
      const std::size_t bytes = dst.desc().parity_bytes();
      if (dst.desc().precision == src.desc().precision) {
        QUADRILLE_CUDA_CHECK(
            cudaMemcpyAsync(dst.numbers(p), src.numbers(p), bytes, cudaMemcpyDeviceToDevice, stream()));
      } else {
        cuda::convert(spinor(dst, p), spinor(src, p), dst.lattice().half_volume());
      }
    });
  }
  void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) override {
    for_each_parity(dst, [&](Parity p) {
      cuda::rotate(spinor(dst, p), spinor(src, p), static_cast<const double*>(g.numbers(p)), adjoint,
                   dst.lattice().half_volume());
    });
  }
  void put_site(Field& dst, Parity p, std::int64_t site, const double* numbers) override {
    cuda::put_site(spinor(dst, p), site, numbers);
  }
  void pack_sites(void* bytes, const PropagatorPiece& piece) override {
    cuda::pack_sites(bytes, columns(*piece.propagator), piece.first, piece.count, piece.precision);
  }
  void unpack_sites(const PropagatorPiece& piece, const void* bytes) override {
    cuda::unpack_sites(columns(*piece.propagator), bytes, piece.first, piece.count, piece.precision);
  }
  void read_spinors(Field& dst, const ForeignSpinors& src) override {
    for_each_parity(dst,
                    [&](Parity p) { cuda::read_spinors(spinor(dst, p), src, int(p), dst.lattice().half_volume()); });
  }
  void write_spinors(const ForeignSpinors& dst, const Field& src) override {
    for_each_parity(src,
                    [&](Parity p) { cuda::write_spinors(dst, spinor(src, p), int(p), src.lattice().half_volume()); });
  }
  std::vector<double> slice_norms(const Propagator& propagator) override {
    return cuda::slice_norms(columns(propagator));
  }
  blas::Sums run(const blas::Call& call) override {
    const FieldDesc& desc = *call.desc;
    AlgebraCall launch{
        call.id,      call.op,   desc.site, desc.precision, call.parities, {}, desc.lattice->half_volume(),
        call.scalars, call.shown};
    std::copy(&call.spans[0][0], &call.spans[0][0] + 2 * blas::max_fields, &launch.spans[0][0]);
    return cuda::run(launch);
  }

  std::size_t cache_bytes() const override { return std::size_t(properties_.l2CacheSize); }
  std::size_t allocated_bytes() const override { return allocated_; }
  std::size_t peak_bytes() const override;
  std::size_t allocations() const override { return allocations_; }
  std::size_t copied_bytes() const override { return copied_; }

  std::unique_ptr<Lane> make_lane() override {
    const UseLane on_this_device(*this, lane_here);
    return std::make_unique<CudaLane>();
  }
  WorkPlace enter(WorkPlace there) noexcept override;

  cudaStream_t stream() const { return lane().stream(); }
  int ordinal() const override { return device_; }
  void* native_stream() const override { return stream(); }
  /// Memory of the pool; ErrorCode::unsupported, saying what needs it and what to do, when there is none.
  void* take(std::size_t bytes, const char* what, const char* advice);
  std::size_t available_bytes() const override;
  Reduction begin_reduction(std::size_t blocks, int sums) {
    return lane().begin_reduction(blocks, sums,
                                  [&](std::size_t bytes, const char* what) { return take(bytes, what, field_advice); });
  }
  void finish_reduction(const Reduction& reduction, double* sums, int count) {
    lane().finish_reduction(reduction, sums, count);
  }

 private:
  CudaLane& lane() const { return lane_here != nullptr ? *lane_here : const_cast<CudaLane&>(*first_); }
  /// A pool of its own, as the device's default one is for all in the process. Memory that fields give back stays in
  /// it: the next field takes it without a call to the driver.
  void make_pool() {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location = {cudaMemLocationTypeDevice, device_};
    QUADRILLE_CUDA_CHECK(cudaMemPoolCreate(&pool_, &properties));
    std::uint64_t threshold = UINT64_MAX;
    QUADRILLE_CUDA_CHECK(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &threshold));
  }

  int device_ = 0;
  cudaDeviceProp properties_{};
  cudaMemPool_t pool_ = nullptr;
  std::optional<CudaLane> first_;
  std::atomic<std::size_t> allocated_{0};
  std::atomic<std::size_t> allocations_{0};
  std::atomic<std::size_t> copied_{0};
};

void* CudaBackend::take(std::size_t bytes, const char* what, const char* advice) {
  void* memory = nullptr;
  const auto ask = [&] { return cudaMallocFromPoolAsync(&memory, std::max<std::size_t>(bytes, 1), pool_, stream()); };
  cudaError_t status = ask();
  if (status == cudaErrorMemoryAllocation) {  // what the pool keeps may be in the wrong pieces
    (void)cudaGetLastError();
    synchronize();
    QUADRILLE_CUDA_CHECK(cudaMemPoolTrimTo(pool_, 0));
    status = ask();
  }
  while (status == cudaErrorMemoryAllocation && others_give_way()) {
    (void)cudaGetLastError();
    synchronize();
    status = ask();
  }
  check_memory(
      status, "cudaMallocFromPoolAsync",
      {.bytes = bytes, .what = what, .advice = fmt::format("fields hold {} bytes; {}", allocated_bytes(), advice)});
  return memory;
}

void* CudaBackend::allocate(std::size_t bytes) {
  void* memory = take(bytes, "a field", field_advice);
  if (poisons_memory) {
    if (const cudaError_t filled = cudaMemsetAsync(memory, 0xff, bytes, stream()); filled != cudaSuccess) {
      (void)cudaFreeAsync(memory, stream());
      check(filled, "cudaMemsetAsync");
    }
  }
  allocated_ += bytes;
  ++allocations_;
  return memory;
}

WorkPlace CudaBackend::enter(WorkPlace there) noexcept {
  WorkPlace before{lane_here};
  lane_here = static_cast<CudaLane*>(there.lane);
  (void)cudaGetDevice(&before.device);
  const int device = there.device < 0 ? device_ : there.device;
  if (device != before.device) (void)cudaSetDevice(device);
  return before;
}

MemoryPlace CudaBackend::place_of(const void* memory) const {
  cudaPointerAttributes attributes{};
  QUADRILLE_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
  switch (attributes.type) {
    case cudaMemoryTypeDevice: return attributes.device == device_ ? MemoryPlace::device : MemoryPlace::other_device;
    case cudaMemoryTypeManaged: return MemoryPlace::both;
    default: return MemoryPlace::host;
  }
}

void CudaBackend::wait_for(void* other) {
  if (other == nullptr) {
    QUADRILLE_CUDA_CHECK(cudaDeviceSynchronize());
    return;
  }
  const OwnedEvent ready = make_event();
  QUADRILLE_CUDA_CHECK(cudaEventRecord(ready.get(), static_cast<cudaStream_t>(other)));
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream(), ready.get(), 0));
}

std::size_t CudaBackend::available_bytes() const {
  std::size_t free = 0, total = 0;
  std::uint64_t reserved = 0, used = 0;
  QUADRILLE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  QUADRILLE_CUDA_CHECK(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
  QUADRILLE_CUDA_CHECK(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used));
  return free + std::size_t(reserved - std::min(used, reserved));
}

std::size_t CudaBackend::peak_bytes() const {
  std::uint64_t most = 0;
  QUADRILLE_CUDA_CHECK(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &most));
  return std::size_t(most);
}

/// While it lives, this thread works on device `number`; negative: it stays where it is.
class UseDevice {
 public:
  explicit UseDevice(int number) {
    QUADRILLE_CUDA_CHECK(cudaGetDevice(&before_));
    if (number < 0) return;
    QUADRILLE_CUDA_CHECK(cudaSetDevice(number));
  }
  ~UseDevice() { (void)cudaSetDevice(before_); }
  UseDevice(const UseDevice&) = delete;
  UseDevice& operator=(const UseDevice&) = delete;

 private:
  int before_ = 0;
};

/// `number`: of the device; negative for the current one.
CudaBackend& backend(int number = -1) {
  const auto make = [&] {
    const UseDevice chosen(number);
    return new CudaBackend;
  };
  static CudaBackend* const the = make();  // lives on: fields of static life may outlive any order of ends
  return *the;
}

}  // namespace

cudaStream_t stream() { return backend().stream(); }
void* take(std::size_t bytes, const char* what, const char* advice) { return backend().take(bytes, what, advice); }
void give_back(void* memory) noexcept { (void)cudaFreeAsync(memory, stream()); }
std::size_t available_bytes() { return backend().available_bytes(); }
Reduction begin_reduction(std::size_t blocks, int sums) { return backend().begin_reduction(blocks, sums); }
void finish_reduction(const Reduction& reduction, double* sums, int count) {
  backend().finish_reduction(reduction, sums, count);
}

}  // namespace cuda

Backend& cuda_backend() { return cuda::backend(); }
Backend& cuda_backend_of(int number) {
  if (const int devices = cuda::count_devices(); number >= devices) {
    throw Error(ErrorCode::unsupported,
                fmt::format("there is no GPU {}: there are {} here, numbered from 0", number, devices));
  }
  return cuda::backend(number);
}

}  // namespace quadrille
