// The backend that a test program is compiled for: the CPU, or in test_gpu the GPU. The same tests run on both.
#pragma once

#include "core/backend/backend.h"

namespace quadrille::testing {

#ifdef QUADRILLE_TEST_GPU
inline Backend& backend() { return find_backend("cuda"); }
#else
inline Backend& backend() { return cpu_backend(); }
#endif

}  // namespace quadrille::testing
