// The module flow: the tasks `gradient_flow` (flow_task.h) and `smear` (smear_task.h).
#include "modules/shared/plugin/task.h"
#include "modules/flow/tasks/flow_task.h"
#include "modules/flow/tasks/smear_task.h"

namespace quadrille::flow {
namespace {

constexpr quadrille_task tasks[] = {
    {.name = "gradient_flow",
     .help =
         "gradient flow of the Wilson or the Symanzik action: energy density, topological charge, the scales t0 and w0",
     .parameters = flow_parameters,
     .parameter_count = flow_parameter_count,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_ON_RANKS,
     .check = task_function<check_flow>,
     .run = task_function<run_flow>},
    {.name = "smear",
     .help = "stout, APE or HYP smearing of the links; tasks after it in the job work on the smeared links",
     .parameters = smear_parameters,
     .parameter_count = smear_parameter_count,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_MAKES_LINKS | QUADRILLE_ON_RANKS,
     .check = task_function<check_smear>,
     .run = task_function<run_smear>}};
constexpr const char* blocks[] = {"flows", "smearings", nullptr};

constexpr quadrille_module module = module_of("flow", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::flow

extern "C" const quadrille_module* quadrille_module_flow(void) { return &quadrille::flow::module; }
