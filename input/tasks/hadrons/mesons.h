// The task `mesons`: meson correlators of a propagator.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry mesons_task();

}  // namespace quadrille
