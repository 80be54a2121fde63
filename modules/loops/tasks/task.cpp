// The module loops: the tasks `polyakov` (polyakov_task.h) and `wilson_loops` (wilson_task.h).
#include "modules/shared/plugin/task.h"
#include "modules/loops/tasks/polyakov_task.h"
#include "modules/loops/tasks/wilson_task.h"

namespace quadrille::loops {
namespace {

constexpr quadrille_task loop_tasks[] = {
    {.name = "polyakov",
     .help = "Polyakov loops: tr / 3 of the product of the links around the lattice, averaged over it",
     .parameters = polyakov_parameters,
     .parameter_count = polyakov_parameter_count,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_ON_RANKS,
     .run = task_function<run_polyakov>},
    {.name = "wilson_loops",
     .help =
         "planar Wilson loops Re tr W / 3, averaged over the lattice; after the task smear with directions: spatial "
         "their spatial lines are smeared",
     .parameters = wilson_parameters,
     .parameter_count = wilson_parameter_count,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_ON_RANKS,
     .run = task_function<run_wilson_loops>}};
constexpr const char* loop_blocks[] = {"loops", nullptr};

constexpr quadrille_module loop_module = module_of("loops", QUADRILLE_VERSION, loop_tasks, loop_blocks);

}  // namespace
}  // namespace quadrille::loops

extern "C" const quadrille_module* quadrille_module_loops(void) { return &quadrille::loops::loop_module; }
