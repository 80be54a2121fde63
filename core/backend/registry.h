// What each backend tells of itself by its name.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"

#include <string>

namespace quadrille {

/// Why it cannot be used on `device`, or the current one if that is negative; empty when it can.
QUADRILLE_DECLARE_FOR_BACKENDS(std::string, backend_trouble, (int device))
QUADRILLE_DECLARE_FOR_BACKENDS(Backend&, backend_on, (int device))
/// How many devices there are; 0 where that means nothing.
QUADRILLE_DECLARE_FOR_BACKENDS(int, backend_devices, ())

}  // namespace quadrille
