// The backends of this build. A new one is a folder beside this file and a line here.
#include "core/backend/backend.h"
#include "core/error.h"

#ifdef QUADRILLE_HAVE_CUDA
#include "core/backend/cuda/cuda_backend.h"
#endif

namespace quadrille {
namespace {

std::string nothing() { return ""; }

struct Entry {
  const char* name;
  std::string (*trouble)();
  Backend& (*backend)();
};

/// In rising order of preference for "auto".
constexpr Entry entries[] = {
    {"cpu", &nothing, &cpu_backend},
#ifdef QUADRILLE_HAVE_CUDA
    {"cuda", &cuda::trouble, &cuda_backend},
#else
    {"cuda", [] { return std::string("this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON"); },
     nullptr},
#endif
};

}  // namespace

std::string backend_trouble(const std::string& name) {
  std::string known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.trouble();
    known += std::string(entry.name) + ", ";
  }
  throw Error(ErrorCode::invalid_input, "unknown backend '" + name + "'; known are " + known + "auto");
}

Backend& find_backend(const std::string& name) {
  const Entry* found = nullptr;
  for (const Entry& entry : entries) {
    if (name == "auto" ? entry.trouble().empty() : entry.name == name) found = &entry;
  }
  const std::string trouble = name == "auto" ? "" : backend_trouble(name);
  if (!trouble.empty()) throw Error(ErrorCode::unsupported, "backend " + name + ": " + trouble);
  return found->backend();
}

}  // namespace quadrille
