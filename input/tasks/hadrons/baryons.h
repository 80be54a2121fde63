// The task `baryons`: baryon correlators of propagators.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry baryons_task();

}  // namespace quadrille
