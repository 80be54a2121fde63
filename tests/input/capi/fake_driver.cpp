// A libcuda.so.1 for machines without a GPU: it holds one address for memory of a device, and may call it managed.
#include <cstdint>

namespace {
std::uint64_t of_device = 0;
int is_managed = 0;
}  // namespace

extern "C" __attribute__((visibility("default"))) void fake_device_memory(const void* memory, int managed) {
  of_device = std::uint64_t(reinterpret_cast<std::uintptr_t>(memory));
  is_managed = managed;
}

// As NVIDIA's documentation of the CUDA driver API has it: 2 and 8 are the kind of memory and whether it is managed; an
// address that the driver does not know is CUDA_ERROR_INVALID_VALUE, 1.
extern "C" __attribute__((visibility("default"))) int cuPointerGetAttribute(void* value, int attribute,
                                                                            std::uint64_t address) {
  if (address != of_device) return 1;
  if (attribute == 2) {
    *static_cast<unsigned*>(value) = 2;
    return 0;
  }
  if (attribute == 8) {
    *static_cast<int*>(value) = is_managed;
    return 0;
  }
  return 1;
}
