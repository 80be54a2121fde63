// The module gauge_fixing: the task `gauge_fix` (gauge_fix_task.h).
#include "modules/shared/plugin/task.h"
#include "modules/gauge_fixing/tasks/gauge_fix_task.h"

namespace quadrille::gauge_fixing {
namespace {

constexpr quadrille_task fixing_tasks[] = {
    {.name = "gauge_fix",
     .help = "Landau or Coulomb gauge by overrelaxation; tasks after it in the job work on the fixed links",
     .parameters = gauge_fix_parameters,
     .parameter_count = gauge_fix_parameter_count,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_MAKES_LINKS | QUADRILLE_ON_RANKS,
     .run = task_function<run_gauge_fix>}};
constexpr const char* fixing_blocks[] = {"gauge_fixings", nullptr};

constexpr quadrille_module fixing_module = module_of("gauge_fixing", QUADRILLE_VERSION, fixing_tasks, fixing_blocks);

}  // namespace
}  // namespace quadrille::gauge_fixing

extern "C" const quadrille_module* quadrille_module_gauge_fixing(void) {
  return &quadrille::gauge_fixing::fixing_module;
}
