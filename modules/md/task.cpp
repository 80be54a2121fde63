// The module md: the task `md_forces` (forces_task.h).
#include "modules/task.h"
#include "modules/md/forces_task.h"

namespace quadrille::md {
namespace {

constexpr const DeclaredTask* tasks[] = {&md_forces_task};

}  // namespace
}  // namespace quadrille::md

extern "C" const quadrille_module* quadrille_module_md(void) {
  static const quadrille_module module = quadrille::module_of<quadrille::md::tasks>("md", QUADRILLE_VERSION);
  return &module;
}
