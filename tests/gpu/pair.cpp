// The linker gives test_gpu_pair these functions in place of those of the runtime (--wrap).
#include "tests/gpu/pair.h"

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace quadrille::testing {
namespace {

struct Range {
  std::size_t bytes;
  int device;
};

struct Known {
  std::mutex mutex;
  std::map<const void*, int> owner;           ///< of streams, events, pools and handles
  std::map<const char*, Range> memory;        ///< of devices, by its beginning
  std::set<std::pair<const void*, int>> big;  ///< kernels that may use more shared memory, and where
  std::vector<std::string> mixed;
};

Known& known() {
  static Known all;
  return all;
}

thread_local int current = 0;  ///< of the two that are one
std::atomic<int> old_gpu = -1;

}  // namespace

std::vector<std::string> mixed_calls() {
  const std::lock_guard lock(known().mutex);
  return std::exchange(known().mixed, {});
}

OldGpu::OldGpu(int number) { old_gpu = number; }
OldGpu::~OldGpu() { old_gpu = -1; }

}  // namespace quadrille::testing

using namespace quadrille::testing;

extern "C" {

#define REAL(name, ...)                   \
  cudaError_t __real_##name(__VA_ARGS__); \
  cudaError_t __wrap_##name(__VA_ARGS__)

REAL(cudaGetDeviceCount, int* count);
REAL(cudaGetDevice, int* device);
REAL(cudaSetDevice, int device);
REAL(cudaGetDeviceProperties, cudaDeviceProp* properties, int device);
REAL(cudaDeviceGetAttribute, int* value, cudaDeviceAttr attribute, int device);
REAL(cudaMemPoolCreate, cudaMemPool_t* pool, const cudaMemPoolProps* properties);
REAL(cudaMallocFromPoolAsync, void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
REAL(cudaFreeAsync, void* memory, cudaStream_t stream);
REAL(cudaPointerGetAttributes, cudaPointerAttributes* attributes, const void* memory);
REAL(cudaStreamCreateWithPriority, cudaStream_t* stream, unsigned flags, int priority);
REAL(cudaEventCreate, cudaEvent_t* event);
REAL(cudaEventCreateWithFlags, cudaEvent_t* event, unsigned flags);
REAL(cudaEventRecord, cudaEvent_t event, cudaStream_t stream);
REAL(cudaMemcpyAsync, void* to, const void* from, std::size_t bytes, cudaMemcpyKind way, cudaStream_t stream);
REAL(cudaMemsetAsync, void* to, int value, std::size_t bytes, cudaStream_t stream);
REAL(cudaFuncSetAttribute, const void* kernel, cudaFuncAttribute attribute, int value);
REAL(cudaLaunchKernel, const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
     cudaStream_t stream);
REAL(__cudaLaunchKernel, cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
     cudaStream_t stream);

#undef REAL
}

namespace {

bool one_is_two() {
  static const bool so = [] {
    int count = 0;
    return __real_cudaGetDeviceCount(&count) == cudaSuccess && count == 1;
  }();
  return so;
}

/// The machine's number of a device.
int real(int device) { return one_is_two() && device == 1 ? 0 : device; }

int here() {
  if (one_is_two()) return current;
  int device = 0;
  (void)__real_cudaGetDevice(&device);
  return device;
}

void belongs_here(const void* thing) {
  const std::lock_guard lock(known().mutex);
  known().owner[thing] = here();
}

/// -1 for what is not known, as memory of the host.
int owner(const void* thing) {
  const auto found = known().owner.find(thing);
  return found == known().owner.end() ? -1 : found->second;
}

int owner_of_memory(const void* memory) {
  const char* const at = static_cast<const char*>(memory);
  auto after = known().memory.upper_bound(at);
  if (after == known().memory.begin()) return -1;
  --after;
  return at < after->first + after->second.bytes ? after->second.device : -1;
}

void demand_same(const char* call, const char* what, int one, const char* other_what, int other) {
  if (one < 0 || other < 0 || one == other) return;
  known().mixed.push_back(std::string(call) + ": " + what + " of GPU " + std::to_string(one) + ", " + other_what +
                          " of GPU " + std::to_string(other));
}

int owner_of_stream(cudaStream_t stream) { return stream == nullptr ? here() : owner(stream); }

void look_at_launch(const void* kernel, std::size_t shared, cudaStream_t stream) {
  const std::lock_guard lock(known().mutex);
  demand_same("a kernel", "a stream", owner_of_stream(stream), "the current device", here());
  if (shared <= 48 * 1024) return;
  const bool was_told = known().big.contains({kernel, here()});
  const bool elsewhere = known().big.contains({kernel, 1 - here()});
  if (elsewhere && !was_told) demand_same("a kernel", "shared memory", 1 - here(), "the current device", here());
}

}  // namespace

extern "C" {

cudaError_t __wrap_cudaGetDeviceCount(int* count) {
  const cudaError_t status = __real_cudaGetDeviceCount(count);
  if (status == cudaSuccess && *count == 1) *count = 2;
  return status;
}

cudaError_t __wrap_cudaGetDevice(int* device) {
  const cudaError_t status = __real_cudaGetDevice(device);
  if (status == cudaSuccess) *device = here();
  return status;
}

cudaError_t __wrap_cudaSetDevice(int device) {
  const cudaError_t status = __real_cudaSetDevice(real(device));
  if (status == cudaSuccess) current = device;
  return status;
}

cudaError_t __wrap_cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return __real_cudaGetDeviceProperties(properties, real(device));
}

cudaError_t __wrap_cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const cudaError_t status = __real_cudaDeviceGetAttribute(value, attribute, real(device));
  if (device == old_gpu && attribute == cudaDevAttrComputeCapabilityMajor) *value = 7;
  return status;
}

cudaError_t __wrap_cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  cudaMemPoolProps there = *properties;
  there.location.id = real(properties->location.id);
  const cudaError_t status = __real_cudaMemPoolCreate(pool, &there);
  const std::lock_guard lock(known().mutex);
  if (status == cudaSuccess) known().owner[*pool] = properties->location.id;
  return status;
}

cudaError_t __wrap_cudaMallocFromPoolAsync(void** memory, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const cudaError_t status = __real_cudaMallocFromPoolAsync(memory, bytes, pool, stream);
  const std::lock_guard lock(known().mutex);
  demand_same("cudaMallocFromPoolAsync", "a pool", owner(pool), "a stream", owner_of_stream(stream));
  if (status == cudaSuccess) known().memory[static_cast<const char*>(*memory)] = {bytes, owner(pool)};
  return status;
}

cudaError_t __wrap_cudaFreeAsync(void* memory, cudaStream_t stream) {
  {
    const std::lock_guard lock(known().mutex);
    demand_same("cudaFreeAsync", "memory", owner_of_memory(memory), "a stream", owner_of_stream(stream));
    known().memory.erase(static_cast<const char*>(memory));
  }
  return __real_cudaFreeAsync(memory, stream);
}

cudaError_t __wrap_cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  const cudaError_t status = __real_cudaPointerGetAttributes(attributes, memory);
  const std::lock_guard lock(known().mutex);
  if (const int device = owner_of_memory(memory); status == cudaSuccess && device >= 0) attributes->device = device;
  return status;
}

cudaError_t __wrap_cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  const cudaError_t status = __real_cudaStreamCreateWithPriority(stream, flags, priority);
  if (status == cudaSuccess) belongs_here(*stream);
  return status;
}

cudaError_t __wrap_cudaEventCreate(cudaEvent_t* event) {
  const cudaError_t status = __real_cudaEventCreate(event);
  if (status == cudaSuccess) belongs_here(*event);
  return status;
}

cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const cudaError_t status = __real_cudaEventCreateWithFlags(event, flags);
  if (status == cudaSuccess) belongs_here(*event);
  return status;
}

cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  {
    const std::lock_guard lock(known().mutex);
    demand_same("cudaEventRecord", "an event", owner(event), "a stream", owner_of_stream(stream));
  }
  return __real_cudaEventRecord(event, stream);
}

cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind way,
                                   cudaStream_t stream) {
  {
    const std::lock_guard lock(known().mutex);
    demand_same("cudaMemcpyAsync", "memory", owner_of_memory(to), "a stream", owner_of_stream(stream));
    demand_same("cudaMemcpyAsync", "memory", owner_of_memory(from), "a stream", owner_of_stream(stream));
  }
  return __real_cudaMemcpyAsync(to, from, bytes, way, stream);
}

cudaError_t __wrap_cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  {
    const std::lock_guard lock(known().mutex);
    demand_same("cudaMemsetAsync", "memory", owner_of_memory(to), "a stream", owner_of_stream(stream));
  }
  return __real_cudaMemsetAsync(to, value, bytes, stream);
}

cudaError_t __wrap_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    const std::lock_guard lock(known().mutex);
    known().big.insert({kernel, here()});
  }
  return __real_cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t __wrap_cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                    cudaStream_t stream) {
  look_at_launch(kernel, shared, stream);
  return __real_cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                                      cudaStream_t stream) {
  look_at_launch(kernel, shared, stream);
  return __real___cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

cublasStatus_t __real_cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t __wrap_cublasCreate_v2(cublasHandle_t* handle) {
  const cublasStatus_t status = __real_cublasCreate_v2(handle);
  if (status == CUBLAS_STATUS_SUCCESS) belongs_here(*handle);
  return status;
}

cublasStatus_t __real_cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t __wrap_cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  {
    const std::lock_guard lock(known().mutex);
    demand_same("cublasSetStream", "a handle", owner(handle), "a stream", owner_of_stream(stream));
  }
  return __real_cublasSetStream_v2(handle, stream);
}

cublasStatus_t __real_cublasDgemm_v2_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, std::int64_t,
                                        std::int64_t, std::int64_t, const double*, const double*, std::int64_t,
                                        const double*, std::int64_t, const double*, double*, std::int64_t);
cublasStatus_t __wrap_cublasDgemm_v2_64(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                        std::int64_t m, std::int64_t n, std::int64_t k, const double* alpha,
                                        const double* a, std::int64_t lda, const double* b, std::int64_t ldb,
                                        const double* beta, double* c, std::int64_t ldc) {
  {
    const std::lock_guard lock(known().mutex);
    demand_same("cublasDgemm", "a handle", owner(handle), "the current device", here());
    demand_same("cublasDgemm", "a handle", owner(handle), "memory", owner_of_memory(c));
  }
  return __real_cublasDgemm_v2_64(handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
}
