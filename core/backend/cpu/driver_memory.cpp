#include "core/backend/cpu/driver_memory.h"

#include <dlfcn.h>

#include <cstdint>
#include <memory>

namespace quadrille {
namespace {

// Of the CUDA driver API, whose header a build without CUDA does not have.
constexpr int success = 0;                                                            // CUDA_SUCCESS
constexpr int attribute_memory_type = 2, attribute_is_managed = 8;                    // CU_POINTER_ATTRIBUTE_*
constexpr unsigned type_device = 2;                                                   // CU_MEMORYTYPE_DEVICE
using PointerAttribute = int (*)(void* value, int attribute, std::uint64_t address);  // cuPointerGetAttribute

struct CloseLibrary {
  void operator()(void* library) const { ::dlclose(library); }
};

}  // namespace

MemoryPlace place_by_driver(const void* memory) {
  const std::unique_ptr<void, CloseLibrary> driver(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD));
  if (!driver) return MemoryPlace::host;
  const auto ask = reinterpret_cast<PointerAttribute>(::dlsym(driver.get(), "cuPointerGetAttribute"));
  if (ask == nullptr) return MemoryPlace::host;
  const auto address = std::uint64_t(reinterpret_cast<std::uintptr_t>(memory));
  unsigned type = 0;
  int managed = 0;
  if (ask(&type, attribute_memory_type, address) != success || type != type_device) return MemoryPlace::host;
  if (ask(&managed, attribute_is_managed, address) == success && managed != 0) return MemoryPlace::both;
  return MemoryPlace::device;
}

}  // namespace quadrille
