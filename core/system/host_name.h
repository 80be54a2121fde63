// The name of this machine.
#pragma once

#include "core/api.h"

#include <string>

namespace quadrille {

/// As gethostname(2) has it; "an unknown host" when that fails.
QUADRILLE_API std::string host_name();

}  // namespace quadrille
