#include "modules/shared/dense/cuda/cublas.h"

#include "core/backend/cuda/of_device.h"
#include "core/backend/cuda/runtime.h"
#include "core/error.h"

#include <fmt/format.h>

namespace quadrille::cuda {
namespace {

cublasHandle_t make_handle() {
  cublasHandle_t handle = nullptr;
  QUADRILLE_CUBLAS_CHECK(cublasCreate(&handle));
  QUADRILLE_CUBLAS_CHECK(cublasSetStream(handle, stream()));
  // After the stream, which resets it.
  QUADRILLE_CUBLAS_CHECK(cublasSetWorkspace(handle, cublas_workspace(), cublas_workspace_bytes));
  QUADRILLE_CUBLAS_CHECK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
  QUADRILLE_CUBLAS_CHECK(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_NOT_ALLOWED));
  return handle;
}

}  // namespace

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("CUDA: {}: {} ({}){}", call, cublasGetStatusString(status), cublasGetStatusName(status),
                          status == CUBLAS_STATUS_ALLOC_FAILED ? "; " + free_device_memory() : ""));
}

cublasHandle_t cublas() {
  static auto* const handles = new OfDevice<cublasHandle_t>;
  return handles->here(make_handle);
}

cublasLtHandle_t cublas_lt() { return reinterpret_cast<cublasLtHandle_t>(cublas()); }  // as cuBLAS's manual has it

void* cublas_workspace() {
  static auto* const workspaces = new OfDevice<void*>;
  return workspaces->here(
      [] { return take(cublas_workspace_bytes, "the workspace of cuBLAS", "end other programs on this GPU"); });
}

}  // namespace quadrille::cuda
