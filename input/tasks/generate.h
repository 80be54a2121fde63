// The task `generate`: pure gauge configurations by heatbath and overrelaxation (modules/quenched).
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry generate_task();

}  // namespace quadrille
