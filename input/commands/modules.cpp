#include "input/commands/modules.h"

#include "modules/shared/plugin/loader.h"

#include <fmt/format.h>

#include <ostream>

namespace quadrille {

int list_modules(std::ostream& out) {
  for (const Module& module : modules()) {
    const quadrille_module& descriptor = module.descriptor;
    const std::string build = *descriptor.build_id == 0 ? "" : fmt::format(" ({})", descriptor.build_id);
    out << fmt::format("{} {}{}: {}\n", descriptor.name, descriptor.version, build,
                       module.file.empty() ? "part of quadrille" : module.file);
    for (const ModuleTask& task : module.tasks) out << fmt::format("  task {}: {}\n", task.name, task.table.help);
  }
  for (const RefusedModule& refused : refused_modules()) out << fmt::format("refused: {}\n", refused.reason);
  if (modules().empty() && refused_modules().empty()) {
    out << "no modules; set the environment variable QUADRILLE_MODULE_PATH to their folders\n";
  }
  return refused_modules().empty() ? 0 : 1;
}

}  // namespace quadrille
