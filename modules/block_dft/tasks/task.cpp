// The module block_dft: the tasks `block_multiply` (multiply_task.h), `density_matrix` (density_task.h),
// `matrix_function` (function_task.h) and `scf_model` (scf_task.h).
#include "modules/shared/plugin/task.h"
#include "modules/block_dft/tasks/density_task.h"
#include "modules/block_dft/tasks/function_task.h"
#include "modules/block_dft/tasks/multiply_task.h"
#include "modules/block_dft/tasks/scf_task.h"

namespace quadrille::block_dft {
namespace {

constexpr quadrille_task tasks[] = {
    {.name = "block_multiply",
     .help = "speed of products of random block-sparse matrices, and errors of filtered ones",
     .parameters = multiply_parameters,
     .parameter_count = multiply_parameter_count,
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_multiply>,
     .run = task_function<run_multiply>},
    {.name = "density_matrix",
     .help = "the density matrix of a Hamiltonian and an overlap matrix, linear-scaling for sparse matrices",
     .parameters = density_parameters,
     .parameter_count = density_parameter_count,
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_density_task>,
     .run = task_function<run_density>},
    {.name = "matrix_function",
     .help = "the inverse, exponential, sign or square root of a symmetric block-sparse matrix, by products alone",
     .parameters = function_parameters,
     .parameter_count = function_parameter_count,
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_function_task>,
     .run = task_function<run_function>},
    {.name = "scf_model",
     .help = "self-consistent charges of a tight-binding model: linear-scaling density matrices with charge mixing, or "
             "curvy steps",
     .parameters = scf_parameters,
     .parameter_count = scf_parameter_count,
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_scf>,
     .run = task_function<run_scf>}};
constexpr const char* blocks[] = {"block_products", nullptr};

constexpr quadrille_module module = module_of("block_dft", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::block_dft

extern "C" const quadrille_module* quadrille_module_block_dft(void) { return &quadrille::block_dft::module; }
