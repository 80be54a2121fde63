// The task `critical_mass`: the bare mass at which the pion becomes massless.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry critical_mass_task();

}  // namespace quadrille
