// Logging: one spdlog logger to standard error, shared by every folder.
#pragma once

#include "core/api.h"

#include <spdlog/spdlog.h>

namespace quadrille {

/// The logger named "quadrille" (standard error, pattern "quadrille: [level] text"). Thread safe.
/// Tests may replace its sinks to read what was said.
QUADRILLE_API spdlog::logger& log();

}  // namespace quadrille
