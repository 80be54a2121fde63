// The module block_dft: the tasks `block_multiply` (multiply_task.h) and `density_matrix` (density_task.h).
#include "modules/task.h"
#include "modules/block_dft/density_task.h"
#include "modules/block_dft/multiply_task.h"

namespace quadrille::block_dft {
namespace {

quadrille_status run(const quadrille_host* host, quadrille_run* run, std::size_t task, void*) {
  return guarded(host, run, task == 0 ? run_multiply : run_density);
}

quadrille_status check(const quadrille_host* host, quadrille_run* run, std::size_t task) {
  return guarded(host, run, task == 0 ? check_multiply : check_density_task);
}

constexpr quadrille_task tasks[] = {
    {.name = "block_multiply",
     .help = "speed of products of random block-sparse matrices, and errors of filtered ones",
     .parameters = multiply_parameters,
     .parameter_count = multiply_parameter_count},
    {.name = "density_matrix",
     .help = "the density matrix of a Hamiltonian and an overlap matrix, in time linear in their size where they are "
             "sparse",
     .parameters = density_parameters,
     .parameter_count = density_parameter_count}};

constexpr quadrille_module module = module_of("block_dft", QUADRILLE_VERSION, tasks, check, run);

}  // namespace
}  // namespace quadrille::block_dft

extern "C" const quadrille_module* quadrille_module_block_dft(void) { return &quadrille::block_dft::module; }
