// Reads the descriptor of a module: checks it, and turns its schema into parameter tables.
#include "core/error.h"
#include "modules/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>

namespace quadrille {
namespace {

[[noreturn]] void refuse(const std::string& reason) {
  throw Error(ErrorCode::unsupported, "its descriptor: " + reason);
}

/// Struct number `index` of an array whose writer knew `size` bytes of it; the rest is zero.
template <class Struct>
Struct read(const Struct* array, std::size_t index, std::size_t size) {
  Struct out{};
  std::memcpy(&out, reinterpret_cast<const char*>(array) + index * size, std::min(size, sizeof(Struct)));
  return out;
}

bool is_name(const char* name) {
  if (name == nullptr || *name == 0 || std::strlen(name) > 64) return false;
  return std::all_of(name, name + std::strlen(name),
                     [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); });
}

std::vector<std::string> texts(const char* const* list) {
  std::vector<std::string> out;
  for (; list != nullptr && *list != nullptr; ++list) out.emplace_back(*list);
  return out;
}

ParameterType type_of(quadrille_parameter_type type, const std::string& owner) {
  switch (type) {
    case QUADRILLE_BOOLEAN: return ParameterType::boolean;
    case QUADRILLE_INTEGER: return ParameterType::integer;
    case QUADRILLE_REAL: return ParameterType::real;
    case QUADRILLE_TEXT: return ParameterType::text;
    case QUADRILLE_CHOICE: return ParameterType::choice;
    case QUADRILLE_FILE_IN: return ParameterType::file_in;
    case QUADRILLE_FILE_OUT: return ParameterType::file_out;
    case QUADRILLE_GROUP: return ParameterType::group;
    case QUADRILLE_LIST: return ParameterType::list;
  }
  refuse(fmt::format("{} has the unknown type {}", owner, int(type)));
}

class SchemaReader {
 public:
  explicit SchemaReader(std::size_t parameter_size) : size_(parameter_size) {}

  std::vector<Parameter> parameters(const quadrille_parameter* array, std::size_t count, const std::string& owner) {
    if (array == nullptr && count > 0) refuse(fmt::format("{} has {} parameters and no array of them", owner, count));
    std::vector<Parameter> out;
    for (std::size_t k = 0; k < count; ++k) {
      const quadrille_parameter from = read(array, k, size_);
      if (!is_name(from.name)) refuse(fmt::format("parameter {} of {} has no good name", k, owner));
      const auto same = [&](const Parameter& p) { return p.name == from.name; };
      if (std::any_of(out.begin(), out.end(), same)) refuse(fmt::format("{} has '{}' twice", owner, from.name));
      out.push_back(parameter(from, fmt::format("'{}' of {}", from.name, owner)));
    }
    return out;
  }

 private:
  Parameter parameter(const quadrille_parameter& from, const std::string& owner) {
    Parameter out;
    out.name = from.name;
    out.type = type_of(from.type, owner);
    out.help = from.help == nullptr ? "" : from.help;
    out.unit = from.unit == nullptr ? "" : from.unit;
    if (from.default_text != nullptr) out.default_text = from.default_text;
    out.required = (from.flags & QUADRILLE_REQUIRED) != 0;
    if ((from.flags & QUADRILLE_HAS_MINIMUM) != 0) out.minimum = from.minimum;
    if ((from.flags & QUADRILLE_HAS_MAXIMUM) != 0) out.maximum = from.maximum;
    out.minimum_open = (from.flags & QUADRILLE_MINIMUM_OPEN) != 0;
    out.maximum_open = (from.flags & QUADRILLE_MAXIMUM_OPEN) != 0;
    out.choices = texts(from.choices);
    out.excludes = texts(from.excludes);
    if (out.type == ParameterType::choice && out.choices.empty()) refuse(owner + " is a choice without choices");
    if (out.type == ParameterType::group) {
      out.members = parameters(from.members, from.member_count, owner);
      if (from.shorthand != nullptr) out.shorthand = from.shorthand;
    } else if (out.type == ParameterType::list) {
      out.element = parameters(from.members, from.member_count, owner);
      const bool simple = out.element.size() == 1 && out.element[0].type != ParameterType::group &&
                          out.element[0].type != ParameterType::list;
      if (!simple)
        refuse(owner + " is a list: its one member says what an entry is, and is neither a group nor a list");
    }
    return out;
  }

  std::size_t size_;
};

ModuleTask task_of(const quadrille_module& module, std::size_t index) {
  const quadrille_task from = read(module.tasks, index, module.task_size);
  if (!is_name(from.name)) refuse(fmt::format("task {} has no good name", index));
  const std::string owner = std::string("task ") + from.name;
  ModuleTask task{from.name, {.name = owner, .help = from.help == nullptr ? "" : from.help}, from.flags};
  task.table.parameters = SchemaReader(module.parameter_size).parameters(from.parameters, from.parameter_count, owner);
  const auto reserved = [](const Parameter& p) { return p.name == "task" || p.name == "name"; };
  if (std::any_of(task.table.parameters.begin(), task.table.parameters.end(), reserved)) {
    refuse(owner + " has a parameter 'task' or 'name', which every task has already");
  }
  return task;
}

}  // namespace

Module read_descriptor(const quadrille_module* descriptor, const std::string& file) {
  if (descriptor == nullptr) refuse("there is none");
  if (descriptor->abi_version != QUADRILLE_MODULE_ABI) {
    throw Error(ErrorCode::unsupported,
                fmt::format("it is built for version {} of the module interface, this program has version {}: build it "
                            "with the headers of Quadrille " QUADRILLE_VERSION,
                            descriptor->abi_version, QUADRILLE_MODULE_ABI));
  }
  // This is the first version of the interface: nothing of it may be missing.
  if (descriptor->struct_size < sizeof(quadrille_module) || descriptor->task_size < sizeof(quadrille_task) ||
      descriptor->parameter_size < sizeof(quadrille_parameter)) {
    refuse("its structs are smaller than those of version 1 of the interface");
  }
  Module out{read(descriptor, 0, descriptor->struct_size), file, {}};
  const quadrille_module& module = out.descriptor;
  if (!is_name(module.name)) refuse("the module needs a name (letters, digits and '_', at most 64)");
  if (module.version == nullptr || module.build_id == nullptr) refuse("it gives no version or no build id");
  if (module.run == nullptr || module.tasks == nullptr || module.task_count == 0) refuse("it offers no task to run");
  if ((module.create == nullptr) != (module.destroy == nullptr)) refuse("it has one of create and destroy only");
  for (std::size_t k = 0; k < module.task_count; ++k) {
    ModuleTask task = task_of(module, k);
    const auto same = [&](const ModuleTask& t) { return t.name == task.name; };
    if (std::any_of(out.tasks.begin(), out.tasks.end(), same)) refuse(fmt::format("two tasks '{}'", task.name));
    out.tasks.push_back(std::move(task));
  }
  return out;
}

}  // namespace quadrille
