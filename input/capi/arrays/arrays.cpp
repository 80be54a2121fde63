#include "input/capi/arrays/arrays.h"

#include "core/error.h"

#include <fmt/format.h>

namespace quadrille::capi {

Reached::Reached(Backend& backend, const void* array, std::size_t bytes, bool on_device, Copy copy)
    : backend_(backend), array_(static_cast<std::byte*>(const_cast<void*>(array))), bytes_(bytes) {
  if (on_device || backend.host_memory()) return;
  copy_ = std::make_unique<BackendArray>(backend, bytes);
  if (copy == Copy::in) backend.copy_in(copy_->get(), array_, bytes);
}

void Reached::copy_out() const {
  if (copy_) backend_.copy_out(array_, copy_->get(), bytes_);
}

ArrayWords::ArrayWords(const Parameters& words, const Given& given)
    : given_(given), bits_(words.text("precision") == "single" ? 32 : 64), on_device_(words.text("where") == "device") {
  if (!on_device_ || !given.backend.host_memory()) return;
  throw Error(ErrorCode::unsupported,
              "arrays in the memory of a GPU need a context with `backend: cuda`; this one has the backend " +
                  given.backend.name(),
              words.where("where"));
}

void ArrayWords::check(const void* const* arrays, std::size_t count, const std::string& what) const {
  if (arrays == nullptr) throw Error(ErrorCode::invalid_input, fmt::format("the list of {} is a null pointer", what));
  for (std::size_t k = 0; k < count; ++k) {
    check(arrays[k], fmt::format("{}[{}]", what, k), std::size_t(bits_) / 8, on_device_);
  }
}

void ArrayWords::check(const void* array, const std::string& name, std::size_t number_bytes, bool on_device) const {
  const auto refuse = [&](const std::string& why) { throw Error(ErrorCode::invalid_input, name + " is " + why); };
  if (array == nullptr) refuse("a null pointer");
  if (reinterpret_cast<std::uintptr_t>(array) % number_bytes != 0) {
    refuse(fmt::format("not aligned to the {} bytes of its numbers: is 'precision' right?", number_bytes));
  }
  const MemoryPlace place = given_.backend.place_of(array);
  if (place == MemoryPlace::other_device) {
    refuse(fmt::format("in the memory of another GPU than that of the context ({})", given_.backend.ordinal()));
  }
  if (place == MemoryPlace::device && given_.backend.host_memory()) {
    refuse(
        fmt::format("in the memory of a GPU, but this context has the backend {}: use a context with "
                    "`backend: cuda` and `where: device`",
                    given_.backend.name()));
  }
  if (place == (on_device ? MemoryPlace::host : MemoryPlace::device)) {
    refuse(fmt::format("in the memory of {}: use `where: {}`", on_device ? "the host" : "the GPU",
                       on_device ? "host" : "device"));
  }
}

void ArrayWords::check_bytes(const Parameters& words, std::size_t needed) {
  if (!words.has("bytes") || std::size_t(words.integer("bytes")) == needed) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("'bytes': each array must have {} bytes, not {}", needed, words.integer("bytes")),
              words.where("bytes"));
}

void ArrayWords::wait() const {
  if (on_device_) given_.backend.wait_for(given_.stream);
}

}  // namespace quadrille::capi
