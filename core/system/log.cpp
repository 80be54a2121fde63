#include "core/system/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

namespace quadrille {
namespace {

thread_local spdlog::logger* used_here = nullptr;

}  // namespace

UseLog::UseLog(spdlog::logger& logger) : before_(used_here) { used_here = &logger; }
UseLog::~UseLog() { used_here = before_; }

spdlog::logger& log() {
  if (used_here != nullptr) return *used_here;
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("quadrille", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("quadrille: %^%l%$: %v");
    return made;
  }();
  return *logger;
}

}  // namespace quadrille
