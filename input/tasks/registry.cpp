#include "input/tasks/registry.h"

#include "input/tasks/generate.h"
#include "input/tasks/mesons.h"
#include "input/tasks/propagator.h"

namespace quadrille {

const std::vector<TaskEntry>& task_registry() {
  static const std::vector<TaskEntry> entries = {propagator_task(), mesons_task(), generate_task()};
  return entries;
}

}  // namespace quadrille
