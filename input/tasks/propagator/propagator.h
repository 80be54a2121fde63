// The task `propagator`: M S = source for every spin and color of the source.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry propagator_task();

}  // namespace quadrille
