// The module md: the tasks `md_forces` (forces_task.h) and `md_run` (run_task.h).
#include "modules/shared/plugin/task.h"
#include "modules/md/tasks/forces_task.h"
#include "modules/md/tasks/run_task.h"

namespace quadrille::md {
namespace {

constexpr quadrille_task tasks[] = {
    {.name = "md_forces",
     .help = "errors, offsets and speed of methods of summing pair forces, from single precision to fixed point",
     .parameters = forces_parameters,
     .parameter_count = forces_parameter_count,
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_forces>,
     .run = task_function<run_forces>},
    {.name = "md_run",
     .help = "molecular dynamics with neighbour lists: at constant energy or with a thermostat",
     .parameters = run_parameters,
     .parameter_count = run_parameter_count,
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_run>,
     .run = task_function<run_dynamics>}};
constexpr const char* blocks[] = {"pair_forces", "dynamics", nullptr};

constexpr quadrille_module module = module_of("md", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::md

extern "C" const quadrille_module* quadrille_module_md(void) { return &quadrille::md::module; }
