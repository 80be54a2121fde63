// Finds modules: those that were built with the library, and shared objects.
#pragma once

#include "core/api.h"
#include "core/parameters/parameters.h"
#include "modules/shared/plugin/module.h"

#include <deque>
#include <string>
#include <vector>

namespace quadrille {

/// A parameter of a task that names an earlier task of the job, or a list of them, and their kind.
struct TaskParameter {
  std::string name, kind;
};

/// A task of a module, read out of its descriptor, whatever the size of the structs that its writer knew.
struct ModuleTask {
  std::string name;
  ParameterTable table;
  std::vector<TaskParameter> earlier;
  std::vector<std::string> extends;  ///< its parameters with QUADRILLE_EXTENDS
  quadrille_task descriptor;         ///< a copy, in which what its writer did not know is zero
};

/// A module that may be used. Lives until the program ends, as the shared object does.
struct Module {
  quadrille_module descriptor;      ///< a copy, in which what its writer did not know is zero
  std::string file;                 ///< empty: a part of the library
  std::vector<std::string> blocks;  ///< of results.json that its tasks report under
  std::vector<ModuleTask> tasks;
};

/// A file that is no module for this program, and why.
struct RefusedModule {
  std::string file;
  std::string reason;
};

/// Those of the library; then those in the folders that the environment variable QUADRILLE_MODULE_PATH names
/// (separated by ':'; all *.so files in alphabetical order), which the first call loads; then those of load_module.
QUADRILLE_API const std::deque<Module>& modules();
/// Whether results.json has a block of that name: of the program, or of a module that is loaded.
bool is_results_block(const std::string& name);
/// The folders that QUADRILLE_MODULE_PATH names.
std::vector<std::string> module_path();
/// Those of QUADRILLE_MODULE_PATH that could not be used; each has been logged as a warning.
const std::vector<RefusedModule>& refused_modules();

/// Loads a shared object, or finds it among those that are loaded. Errors (ErrorCode::unsupported, naming the file):
/// one that the dynamic linker refuses; no descriptor; another ABI; a descriptor that makes no sense; a module, a
/// task or a block of results.json of a name that exists.
const Module& load_module(const std::string& file);

/// The parameter table and the tasks of a descriptor. Errors: ErrorCode::unsupported, what makes no sense in it.
Module read_descriptor(const quadrille_module* descriptor, const std::string& file);

}  // namespace quadrille
