// One function for each backend that is built: declared, and found by its name. built_backends.h is made by CMake.
#pragma once

#include "core/backend/built_backends.h"
#include "core/error.h"

#include <string>
#include <string_view>
#include <utility>

namespace quadrille {

/// Whether the backend of this name is built.
constexpr bool is_built(std::string_view backend) {
#define X(name) || backend == #name
  return false QUADRILLE_BUILT_BACKENDS(X);
#undef X
}

/// call(0), whose functions are there in builds with CUDA alone: elsewhere ErrorCode::unsupported says what is missing.
/// `call` is a generic lambda, `[&](auto) { .. }`, as its body is then not even instantiated and nothing of it is
/// linked.
template <class Result = void, class Call>
Result with_cuda(Call&& call) {
  if constexpr (is_built("cuda")) {
    return std::forward<Call>(call)(0);
  } else {
    throw Error(ErrorCode::unsupported, "this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON");
  }
}

}  // namespace quadrille

/// Declares `type name_BACKEND parameters;` for each.
#define QUADRILLE_DECLARE_FOR_BACKENDS(type, name, parameters) \
  QUADRILLE_BUILT_BACKENDS(QUADRILLE_DECLARE_FOR_BACKEND, type, name, parameters)
#define QUADRILLE_DECLARE_FOR_BACKEND(backend, type, name, parameters) type name##_##backend parameters;

/// The function `name_BACKEND` of the backend of this name; ErrorCode::unsupported where there is none.
#define QUADRILLE_OF_BACKEND(which, name)                                          \
  [](const std::string& backend_) {                                                \
    QUADRILLE_BUILT_BACKENDS(QUADRILLE_CASE_OF_BACKEND, name)                      \
    throw ::quadrille::Error(::quadrille::ErrorCode::unsupported,                  \
                             #name ": there is none for the backend " + backend_); \
  }(which)
#define QUADRILLE_CASE_OF_BACKEND(backend, name) \
  if (backend_ == #backend) return &name##_##backend;
