// cuBLAS on the backend's stream.
#pragma once

#include "core/api.h"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstddef>

namespace quadrille::cuda {

/// Throws ErrorCode::unsupported naming the call when `status` is an error.
QUADRILLE_API void check(cublasStatus_t status, const char* call);

/// The handle of the backend's stream, with scalars on the host and a workspace of its own, so that the same call gives
/// the same bits. Kernels that add up in no fixed order (atomics) are off.
QUADRILLE_API cublasHandle_t cublas();

/// The same handle for the calls of cublasLt, which take stream and workspace themselves.
QUADRILLE_API cublasLtHandle_t cublas_lt();

/// What cublas() itself takes from the device's memory: calls of cublasLt on the stream of the backend's first lane may
/// share it.
constexpr std::size_t cublas_workspace_bytes = std::size_t(32) << 20;
QUADRILLE_API void* cublas_workspace();

}  // namespace quadrille::cuda

#define QUADRILLE_CUBLAS_CHECK(call) ::quadrille::cuda::check((call), #call)
