// Logging: one spdlog logger to standard error, shared by every folder.
#pragma once

#include "core/api.h"

#include <spdlog/spdlog.h>

namespace quadrille {

/// The logger named "quadrille" (standard error, pattern "quadrille: [level] text"). Thread safe.
/// Tests may replace its sinks to read what was said. Within the life of a UseLog on this thread, that one's logger.
QUADRILLE_API spdlog::logger& log();

/// What this thread says during its life goes to `logger`.
class QUADRILLE_API UseLog {
 public:
  explicit UseLog(spdlog::logger& logger);
  ~UseLog();
  UseLog(const UseLog&) = delete;
  UseLog& operator=(const UseLog&) = delete;

 private:
  spdlog::logger* before_;
};

}  // namespace quadrille
