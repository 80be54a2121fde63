// The backends by their names. CMake lists them (quadrille_backends in cmake/QuadrilleBuild.cmake): a new one is a
// folder beside this file, which defines the functions of registry.h, and a name there.
#include "core/backend/registry.h"
#include "core/backend/absent_backends.h"
#include "core/backend/backend.h"
#include "core/error.h"
#include "core/system/log.h"

#include <cctype>
#include <cstddef>
#include <functional>
#include <iterator>
#include <utility>

namespace quadrille {

namespace {

/// "this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON"
[[maybe_unused]] std::string absent(std::string name) {
  for (char& c : name) c = char(std::toupper(static_cast<unsigned char>(c)));
  return "this build has no " + name + " kernels; configure it with -DQUADRILLE_" + name + "=ON";
}

struct Entry {
  const char* name;
  std::string (*trouble)(int device);
  Backend& (*backend)(int device);
  int (*devices)();
};

/// In rising order of preference for "auto".
constexpr Entry entries[] = {
#define X(name) {#name, &backend_trouble_##name, &backend_on_##name, &backend_devices_##name},
    QUADRILLE_BUILT_BACKENDS(X)
#undef X
#define X(name) {#name, [](int) { return absent(#name); }, nullptr, [] { return 0; }},
        QUADRILLE_ABSENT_BACKENDS(X)
#undef X
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
/// itself), or whose device is named by its number, is passed over with a warning.
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
  int device = -1;
  for (const Entry& entry : entries) {
    if (const int devices = entry.devices(); devices > 0) device = local_rank % devices;
  }
  return device;
}

Backend& find_backend(const std::string& name, int device) {
  if (name == "auto") return best_backend(device);
  const Entry& entry = entry_named(name);
  const std::string trouble = entry.trouble(device);
  if (!trouble.empty()) throw Error(ErrorCode::unsupported, "backend " + name + ": " + trouble);
  return entry.backend(device);
}

}  // namespace quadrille
