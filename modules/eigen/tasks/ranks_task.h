// The task `eigen` on several ranks.
#pragma once

#include "modules/shared/plugin/task.h"

namespace quadrille::eigen {

void run_on_ranks(const TaskContext& context);

}  // namespace quadrille::eigen
