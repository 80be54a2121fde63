// The task `three_point`: matrix elements of local currents between hadrons.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry three_point_task();

}  // namespace quadrille
