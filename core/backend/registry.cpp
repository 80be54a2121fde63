// The backends of this build. A new one is a folder beside this file and a line here.
#include "core/backend/backend.h"
#include "core/error.h"

namespace quadrille {

Backend& find_backend(const std::string& name) {
  if (name == "cpu" || name == "auto") return cpu_backend();
  throw Error(ErrorCode::invalid_input, "unknown backend '" + name + "'; this build has cpu (and auto, which is cpu)");
}

}  // namespace quadrille
