#include "input/tasks/registry.h"

#include "input/plugins/module_task.h"
#include "input/tasks/critical_mass.h"
#include "input/tasks/hadrons/baryons.h"
#include "input/tasks/hadrons/mesons.h"
#include "input/tasks/hadrons/three_point.h"
#include "input/tasks/propagator/propagator.h"
#include "input/tasks/shifted_solves.h"
#include "input/tasks/solver_study.h"
#include "modules/shared/plugin/loader.h"

#include <deque>
#include <mutex>

namespace quadrille {

namespace {

std::mutex modules_lock;  ///< held where modules are counted or loaded: contexts of several threads ask for tasks

}  // namespace

std::vector<const TaskEntry*> task_registry() {
  const std::lock_guard lock(modules_lock);
  static std::deque<TaskEntry> entries = {propagator_task(),    mesons_task(),        baryons_task(),
                                          three_point_task(),   critical_mass_task(), solver_study_task(),
                                          shifted_solves_task()};
  static std::size_t taken = 0;  // modules whose tasks are among them
  for (; taken < modules().size(); ++taken) {
    const Module& module = modules()[taken];
    for (std::size_t k = 0; k < module.tasks.size(); ++k) entries.push_back(module_task(module, k));
  }
  std::vector<const TaskEntry*> all;
  for (const TaskEntry& entry : entries) all.push_back(&entry);
  return all;
}

void load_tasks(const std::string& file) {
  const std::lock_guard lock(modules_lock);
  (void)load_module(file);
}

}  // namespace quadrille
