// The module md: the task `md_forces` (forces_task.h).
#include "modules/task.h"
#include "modules/md/forces_task.h"

namespace quadrille::md {
namespace {

quadrille_status run(const quadrille_host* host, quadrille_run* run, std::size_t, void*) {
  return guarded(host, run, run_forces);
}

quadrille_status check(const quadrille_host* host, quadrille_run* run, std::size_t) {
  return guarded(host, run, check_forces);
}

constexpr quadrille_task tasks[] = {
    {.name = "md_forces",
     .help = "errors, offsets and speed of ways to sum pair forces, from single precision to fixed point",
     .parameters = forces_parameters,
     .parameter_count = forces_parameter_count}};

constexpr quadrille_module module = module_of("md", QUADRILLE_VERSION, tasks, check, run);

}  // namespace
}  // namespace quadrille::md

extern "C" const quadrille_module* quadrille_module_md(void) { return &quadrille::md::module; }
