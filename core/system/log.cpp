#include "core/system/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

namespace quadrille {

spdlog::logger& log() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("quadrille", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("quadrille: %^%l%$: %v");
    return made;
  }();
  return *logger;
}

}  // namespace quadrille
