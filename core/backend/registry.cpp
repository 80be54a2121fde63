// The backends of this build. A new one is a folder beside this file and a line here.
#include "core/backend/backend.h"
#include "core/error.h"
#include "core/system/log.h"

#ifdef QUADRILLE_HAVE_CUDA
#include "core/backend/cuda/cuda_backend.h"
#endif

#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

namespace quadrille {
namespace {

std::string nothing(int) { return ""; }

struct Entry {
  const char* name;
  std::string (*trouble)(int device);
  Backend& (*backend)(int device);
};

/// In rising order of preference for "auto".
constexpr Entry entries[] = {
    {"cpu", &nothing, [](int) -> Backend& { return cpu_backend(); }},
#ifdef QUADRILLE_HAVE_CUDA
    {"cuda", &cuda::trouble, [](int device) -> Backend& { return cuda_backend_of(device); }},
#else
    {"cuda", [](int) { return std::string("this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON"); },
     nullptr},
#endif
};

/// Of this name; ErrorCode::invalid_input for an unknown one.
const Entry& entry_named(const std::string& name) {
  std::string known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    known += std::string(entry.name) + ", ";
  }
  throw Error(ErrorCode::invalid_input, "unknown backend '" + name + "'; the backends are " + known + "auto");
}

/// The last of `entries` that can be used. One that only says so when it is made (a GPU that another process has for
/// itself), or whose device is asked for by its number, is passed over with a warning.
Backend& best_backend(int device) {
  for (std::size_t i = std::size(entries); i-- > 1;) {
    std::string trouble = entries[i].trouble(device);
    if (!trouble.empty() && device < 0) continue;
    try {
      if (trouble.empty()) return entries[i].backend(device);
    } catch (const Error& error) {
      trouble = error.what();
    }
    log().warn("the backend {} cannot be used: {}", entries[i].name, trouble);
  }
  return cpu_backend();
}

thread_local std::function<bool()> give_way;

}  // namespace

void Backend::when_short(std::function<bool()> gives) { give_way = std::move(gives); }
bool Backend::others_give_way() { return give_way && give_way(); }

std::recursive_mutex& first_lane_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

UseLane::~UseLane() {
  try {
    backend_.synchronize();
  } catch (const Error&) {  // a fatal error of a device, which the next call there reports
  }
  (void)backend_.enter(before_);
}

std::string backend_trouble(const std::string& name) {
  constexpr int current = -1;
  return entry_named(name).trouble(current);
}

int device_in_turn(int local_rank) {
#ifdef QUADRILLE_HAVE_CUDA
  if (const int devices = cuda::count_devices(); devices > 0) return local_rank % devices;
#endif
  (void)local_rank;
  return -1;
}

Backend& find_backend(const std::string& name, int device) {
  if (name == "auto") return best_backend(device);
  const Entry& entry = entry_named(name);
  const std::string trouble = entry.trouble(device);
  if (!trouble.empty()) throw Error(ErrorCode::unsupported, "backend " + name + ": " + trouble);
  return entry.backend(device);
}

}  // namespace quadrille
