#include "modules/mgemm/blas/below.h"

#include "modules/mgemm/blas/messages.h"

#include <dlfcn.h>
#include <string>

namespace quadrille::preloaded {
namespace {

bool is_own(const void* function) { return object_of(function) == object_of(reinterpret_cast<void*>(&find_below)); }

/// Null where the libraries of the caller have no such function but that of this library.
void* find_beside(const char* name, const void* caller) {
  Dl_info object;
  if (dladdr(caller, &object) == 0 || object.dli_fname == nullptr) return nullptr;
  void* const handle = dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;  // of the program itself
  void* const found = dlsym(handle, name);
  if (found != nullptr && !is_own(found)) return found;  // and stays: the handle is kept
  dlclose(handle);
  return nullptr;
}

}  // namespace

thread_local int InBelow::depth = 0;

const void* object_of(const void* address) {
  Dl_info object;
  return dladdr(address, &object) != 0 ? object.dli_fbase : nullptr;
}

void* find_below(const char* name, const void* caller) {
  if (void* const beside = find_beside(name, caller)) return beside;
  if (void* const next = dlsym(RTLD_NEXT, name)) return next;
  give_up(std::string("there is no ") + name +
          " below this library: neither what calls it nor the program is linked with a BLAS that has it");
}

}  // namespace quadrille::preloaded
