// The module md: the task `md_forces` (forces_task.h).
#include "modules/task.h"
#include "modules/md/forces_task.h"

namespace quadrille::md {
namespace {

constexpr quadrille_task tasks[] = {
    {.name = "md_forces",
     .help = "errors, offsets and speed of ways to sum pair forces, from single precision to fixed point",
     .parameters = forces_parameters,
     .parameter_count = forces_parameter_count,
     .check = task_function<check_forces>,
     .run = task_function<run_forces>}};
constexpr const char* blocks[] = {"pair_forces", nullptr};

constexpr quadrille_module module = module_of("md", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::md

extern "C" const quadrille_module* quadrille_module_md(void) { return &quadrille::md::module; }
