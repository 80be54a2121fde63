// Memory, stream, copies and sums of a GPU.
#include "core/backend/cuda/cuda_backend.h"

#include "core/backend/cuda/channels/rank_sums.h"
#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/lane.h"
#include "core/backend/cuda/of_device.h"
#include "core/backend/cuda/owned.h"
#include "core/backend/cuda/runtime.h"
#include "core/backend/cuda/transfer.h"
#include "core/backend/registry.h"
#include "core/blas/call.h"
#include "core/error.h"
#include "core/field/field.h"
#include "core/layout/grouped_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace quadrille {
namespace cuda {

int count_devices() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) == cudaSuccess) return devices;
  (void)cudaGetLastError();
  return 0;
}

std::string trouble(int number) {
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    return fmt::format("no usable GPU ({})", cudaGetErrorString(status));
  }
  if (devices == 0) return "there is no GPU";
  if (number >= devices) {
    return fmt::format("there is no GPU {}: there are {} here, numbered from 0", number, devices);
  }
  int device = number, major = 0, pools = 0;
  if ((number < 0 && cudaGetDevice(&device) != cudaSuccess) ||
      cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device) != cudaSuccess) {
    return fmt::format("the properties of the GPU cannot be read ({})", cudaGetErrorString(cudaGetLastError()));
  }
  if (major < 8) return fmt::format("the GPU has compute capability {}.x; at least 8.0 is needed", major);
  return pools != 0 ? "" : "the GPU's driver has no memory pools";
}

namespace {

/// While it lives, this thread's current device is `number`.
class UseDevice {
 public:
  explicit UseDevice(int number) {
    QUADRILLE_CUDA_CHECK(cudaGetDevice(&before_));
    QUADRILLE_CUDA_CHECK(cudaSetDevice(number));
  }
  ~UseDevice() { (void)cudaSetDevice(before_); }
  UseDevice(const UseDevice&) = delete;
  UseDevice& operator=(const UseDevice&) = delete;

 private:
  int before_ = 0;
};

thread_local CudaLane* lane_here = nullptr;  ///< null: the first one of the current device

}  // namespace

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device);

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

  void run(const blas::Call& call, double* sums) override {
    const FieldDesc& desc = *call.desc;
    AlgebraCall launch{.functor = call.op.functor,
                       .number = call.op.number,
                       .site = desc.site,
                       .precision = desc.precision,
                       .grouped = desc.layout.grouped(),
                       .parities = call.parities,
                       .spans = {call.spans[0], call.spans[1]},
                       .sites = desc.lattice->half_volume(),
                       .scalars = call.resident.scalars,
                       .snapshot = call.resident.snapshot,
                       .boxes = {}};
    if (call.resident.joined != nullptr) launch.boxes = static_cast<const RankSums*>(call.resident.joined)->boxes();
    call.op.set.run_on_cuda(launch, sums);
  }
  std::unique_ptr<JoinedSums> join_sums(const Communicator& communicator) override {
    return make_rank_sums(communicator);
  }

  std::size_t cache_bytes() const override { return std::size_t(properties_.l2CacheSize); }
  std::size_t allocated_bytes() const override { return allocated_; }
  std::size_t peak_bytes() const override;
  std::size_t allocations() const override { return allocations_; }
  std::size_t copied_bytes() const override { return copied_; }

  std::unique_ptr<Lane> make_lane() override {
    const UseDevice here(device_);
    return std::make_unique<CudaLane>(*this);
  }
  WorkPlace enter(WorkPlace there) noexcept override;

  /// The one that this thread works in, or else the first.
  CudaLane& lane() const {
    const bool here = lane_here != nullptr && &lane_here->home() == this;
    return here ? *lane_here : const_cast<CudaLane&>(*first_);
  }
  cudaStream_t stream() const { return lane().stream(); }
  int ordinal() const override { return device_; }
  void* native_stream() const override { return stream(); }
  /// Memory of the pool; ErrorCode::unsupported, saying what needs it and what to do, when there is none.
  void* take(std::size_t bytes, const char* what, const char* advice);
  void trim();
  std::size_t available_bytes() const override;

 private:
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

CudaBackend::CudaBackend(int device) : device_(device) {
  const std::string reason = trouble(device);
  if (!reason.empty()) throw Error(ErrorCode::unsupported, "CUDA: " + reason);
  QUADRILLE_CUDA_CHECK(cudaGetDeviceProperties(&properties_, device));
  const UseDevice here(device);
  first_.emplace(*this);
  make_pool();
}

void* CudaBackend::take(std::size_t bytes, const char* what, const char* advice) {
  void* memory = nullptr;
  const auto ask = [&] { return cudaMallocFromPoolAsync(&memory, std::max<std::size_t>(bytes, 1), pool_, stream()); };
  cudaError_t status = ask();
  if (status == cudaErrorMemoryAllocation) {  // what the pool keeps may be in the wrong pieces
    (void)cudaGetLastError();
    trim();
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

void CudaBackend::trim() {
  synchronize();  // what has been given back on the stream is free then
  QUADRILLE_CUDA_CHECK(cudaMemPoolTrimTo(pool_, 0));
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

// A place with a device is one that an earlier call has given: where a thread was, perhaps on another device.
WorkPlace CudaBackend::enter(WorkPlace there) noexcept {
  WorkPlace before{lane_here};
  (void)cudaGetDevice(&before.device);
  const bool first = there.device < 0 && there.lane == nullptr;
  lane_here = first ? &*first_ : static_cast<CudaLane*>(there.lane);
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

namespace {

CudaBackend& backend_of(int device) {
  static auto* const all = new OfDevice<std::unique_ptr<CudaBackend>>;
  return *all->of(device, [&] { return std::make_unique<CudaBackend>(device); });
}

/// That of this thread's lane, or else of its current device.
CudaBackend& backend() {
  if (lane_here != nullptr) return lane_here->home();
  int device = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  return backend_of(device);
}

}  // namespace

cudaStream_t stream() { return backend().stream(); }
void* take(std::size_t bytes, const char* what, const char* advice) { return backend().take(bytes, what, advice); }
void give_back(void* memory) noexcept { (void)cudaFreeAsync(memory, stream()); }
void trim() { backend().trim(); }
std::size_t available_bytes() { return backend().available_bytes(); }
Reduction begin_reduction(std::size_t blocks, int sums) { return backend().lane().begin_reduction(blocks, sums); }
void finish_reduction(const Reduction& reduction, double* sums, int count) {
  backend().lane().finish_reduction(reduction, sums, count);
}

}  // namespace cuda

Backend& cuda_backend() { return cuda::backend(); }
Backend& cuda_backend_of(int number) { return number < 0 ? cuda::backend() : cuda::backend_of(number); }

std::string backend_trouble_cuda(int device) { return cuda::trouble(device); }
Backend& backend_on_cuda(int device) { return cuda_backend_of(device); }
int backend_devices_cuda() { return cuda::count_devices(); }

}  // namespace quadrille
