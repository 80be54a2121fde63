#include "input/tasks/registry.h"

#include "input/tasks/critical_mass.h"
#include "input/tasks/mesons.h"
#include "input/tasks/module_task.h"
#include "input/tasks/propagator.h"
#include "input/tasks/solver_study.h"

namespace quadrille {

const std::deque<TaskEntry>& task_registry() {
  static std::deque<TaskEntry> entries = {propagator_task(), mesons_task(), critical_mass_task(), solver_study_task()};
  static std::size_t taken = 0;  // modules whose tasks are among them
  for (; taken < modules().size(); ++taken) {
    const Module& module = modules()[taken];
    for (std::size_t k = 0; k < module.tasks.size(); ++k) entries.push_back(module_task(module, k));
  }
  return entries;
}

}  // namespace quadrille
