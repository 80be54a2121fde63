#include "input/tasks/registry.h"

#include "input/tasks/critical_mass.h"
#include "input/tasks/generate.h"
#include "input/tasks/mesons.h"
#include "input/tasks/propagator.h"
#include "input/tasks/solver_study.h"

namespace quadrille {

const std::vector<TaskEntry>& task_registry() {
  static const std::vector<TaskEntry> entries = {propagator_task(), mesons_task(), critical_mass_task(),
                                                 solver_study_task(), generate_task()};
  return entries;
}

}  // namespace quadrille
