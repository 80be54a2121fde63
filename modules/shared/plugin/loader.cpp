#include "modules/shared/plugin/loader.h"

#include "core/system/build_id.h"
#include "core/system/log.h"
#include "modules/shared/plugin/results_blocks.h"

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#define X(name) extern "C" const quadrille_module* quadrille_module_##name(void);
#include "module_list.inc"
#undef X

namespace quadrille {
namespace {

namespace fs = std::filesystem;

constexpr const char* descriptor_symbol = "quadrille_module_descriptor";

struct Modules {
  std::deque<Module> loaded;
  std::vector<RefusedModule> refused;
};

[[noreturn]] void refuse_library(const std::string& reason) { throw Error(ErrorCode::unsupported, reason); }

/// Closes a shared object unless it is kept.
class SharedObject {
 public:
  explicit SharedObject(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) refuse_library(fmt::format("cannot be loaded as a shared object: {}", dlerror()));
  }
  ~SharedObject() {
    if (handle_ != nullptr) (void)dlclose(handle_);
  }
  SharedObject(const SharedObject&) = delete;
  SharedObject& operator=(const SharedObject&) = delete;

  void* symbol(const char* name) const { return dlsym(handle_, name); }
  void keep() { handle_ = nullptr; }

 private:
  void* handle_;
};

void require_new_names(const Modules& modules, const Module& module) {
  for (const Module& other : modules.loaded) {
    const std::string whose = other.file.empty() ? "of this program" : "in " + other.file;
    if (std::string(other.descriptor.name) == module.descriptor.name) {
      refuse_library(fmt::format("a module '{}' exists already, {}", module.descriptor.name, whose));
    }
    for (const std::string& block : module.blocks) {
      if (std::find(other.blocks.begin(), other.blocks.end(), block) == other.blocks.end()) continue;
      refuse_library(fmt::format("a block '{}' of results.json exists already: that of the module '{}' {}", block,
                                 other.descriptor.name, whose));
    }
    for (const ModuleTask& task : module.tasks) {
      const auto same = [&](const ModuleTask& t) { return t.name == task.name; };
      if (std::any_of(other.tasks.begin(), other.tasks.end(), same)) {
        refuse_library(fmt::format("a task '{}' exists already: that of the module '{}' {}", task.name,
                                   other.descriptor.name, whose));
      }
    }
  }
}

/// Of a module in C++, whose compiler has seen the inside of the library.
void require_build(const Module& module) {
  const char* theirs = module.descriptor.cpp_build;
  if (theirs == nullptr || std::string(theirs) == build_id()) return;
  refuse_library(
      fmt::format("was compiled with the C++ headers of build '{}' of Quadrille, but this is build '{}': compile it "
                  "again with the headers installed beside this program",
                  theirs, build_id()));
}

const Module& load(Modules& modules, const std::string& given) {
  std::error_code failed;
  const fs::path canonical = fs::canonical(given, failed);
  const std::string file = failed ? given : canonical.string();
  for (const Module& module : modules.loaded) {
    if (module.file == file) return module;
  }
  try {
    SharedObject object(file);
    void* const symbol = object.symbol(descriptor_symbol);
    if (symbol == nullptr) refuse_library(fmt::format("is not a module: it does not export {}", descriptor_symbol));
    const auto descriptor = reinterpret_cast<const quadrille_module* (*)()>(symbol);
    Module module = read_descriptor(descriptor(), file);
    require_build(module);
    require_new_names(modules, module);
    object.keep();
    return modules.loaded.emplace_back(std::move(module));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("the module {}: {}", given, error.message()));
  }
}

void load_from(Modules& modules, const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".so") files.push_back(entry.path());
  }
  if (failed) log().warn("QUADRILLE_MODULE_PATH: {}: {}", folder.string(), failed.message());
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    try {
      (void)load(modules, file.string());
    } catch (const Error& error) {
      modules.refused.push_back({file.string(), error.message()});
      log().warn("{}", error.message());
    }
  }
}

Modules first_modules() {
  Modules modules;
#define X(name) modules.loaded.push_back(read_descriptor(quadrille_module_##name(), ""));
#include "module_list.inc"
#undef X
  for (Module& module : modules.loaded) module.descriptor.build_id = build_id();
  for (const std::string& folder : module_path()) load_from(modules, folder);
  return modules;
}

Modules& all() {
  static Modules modules = first_modules();
  return modules;
}

}  // namespace

std::vector<std::string> module_path() {
  const char* path = std::getenv("QUADRILLE_MODULE_PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::vector<std::string> out;
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (!folder.empty()) out.push_back(folder);
  }
  return out;
}

const std::deque<Module>& modules() { return all().loaded; }
const std::vector<RefusedModule>& refused_modules() { return all().refused; }
const Module& load_module(const std::string& file) { return load(all(), file); }

bool is_results_block(const std::string& name) {
  return is_program_block(name) || std::any_of(modules().begin(), modules().end(), [&](const Module& module) {
           return std::find(module.blocks.begin(), module.blocks.end(), name) != module.blocks.end();
         });
}

}  // namespace quadrille
