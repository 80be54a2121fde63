// The BLAS that a program would have without libquadrille_blas.so.
#pragma once

namespace quadrille::preloaded {

/// The function of this name in the libraries that the object of code with the address `caller` depends on (modules of
/// Python are loaded with a BLAS that nobody else sees), or else in those of the program. Where there is none, the
/// process ends with a message.
void* find_below(const char* name, const void* caller);

/// Where the object of code with this address begins in memory; null for an unknown address.
const void* object_of(const void* address);

/// While one lives, this thread is in the BLAS below. That may call another GEMM of its own (cblas_dgemm of the
/// reference implementation calls dgemm_), which is none of the program's.
class InBelow {
 public:
  InBelow() { ++depth; }
  ~InBelow() { --depth; }
  InBelow(const InBelow&) = delete;
  InBelow& operator=(const InBelow&) = delete;

  static bool now() { return depth > 0; }

 private:
  static thread_local int depth;
};

}  // namespace quadrille::preloaded
