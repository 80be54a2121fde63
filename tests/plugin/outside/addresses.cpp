// addresses MODULE: a program that links the library and loads the module sample; ends with 0 when both see one pool,
// one log and one registry of each kind.
#include "core/backend/backend.h"
#include "core/system/log.h"
#include "dirac/registry.h"
#include "modules/shared/plugin/loader.h"
#include "solvers/registry.h"

#include <dlfcn.h>

#include <cstdio>

int main(int, char** argv) {
  void* const handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  const auto addresses = reinterpret_cast<void (*)(const void**)>(dlsym(handle, "sample_addresses"));
  if (addresses == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 2;
  const void* theirs[5];
  addresses(theirs);
  const void* const ours[5] = {&quadrille::cpu_backend(), &quadrille::log(), &quadrille::operator_registry(),
                               &quadrille::solver_registry(), &quadrille::modules()};
  int different = 0;
  for (int k = 0; k < 5; ++k) {
    std::printf("%p %p\n", ours[k], theirs[k]);
    different += ours[k] != theirs[k];
  }
  return different == 0 ? 0 : 1;
}
