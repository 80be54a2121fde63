// The tasks of modules (modules/shared/plugin/module.h) as tasks of a job.
#pragma once

#include "input/tasks/registry.h"
#include "modules/shared/plugin/loader.h"

namespace quadrille {

/// Task number `index` of a module. Its results stand under the task's name in results.json.
TaskEntry module_task(const Module& module, std::size_t index);

}  // namespace quadrille
