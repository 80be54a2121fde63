// The module block_dft: the tasks `block_multiply` (multiply_task.h) and `density_matrix` (density_task.h).
#include "modules/task.h"
#include "modules/block_dft/density_task.h"
#include "modules/block_dft/multiply_task.h"

namespace quadrille::block_dft {
namespace {

constexpr const DeclaredTask* tasks[] = {&block_multiply_task, &density_matrix_task};

}  // namespace
}  // namespace quadrille::block_dft

extern "C" const quadrille_module* quadrille_module_block_dft(void) {
  static const quadrille_module module =
      quadrille::module_of<quadrille::block_dft::tasks>("block_dft", QUADRILLE_VERSION);
  return &module;
}
