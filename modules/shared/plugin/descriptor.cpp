// Reads the descriptor of a module: checks it, and turns its schema into parameter tables.
#include "core/error.h"
#include "core/parameters/parameter_values.h"
#include "modules/shared/plugin/loader.h"
#include "modules/shared/plugin/results_blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>

namespace quadrille {
namespace {

// Bytes of the structs of version 1, as tests/modules/shared/descriptor_test.cpp pins them: nothing of them may be
// missing.
constexpr std::uint32_t module_size_1 = 72, task_size_1 = 72, parameter_size_1 = 144;
static_assert(sizeof(quadrille_module) >= module_size_1 && sizeof(quadrille_task) >= task_size_1 &&
              sizeof(quadrille_parameter) >= parameter_size_1);

constexpr std::uint32_t parameter_flags = QUADRILLE_REQUIRED | QUADRILLE_HAS_MINIMUM | QUADRILLE_HAS_MAXIMUM |
                                          QUADRILLE_MINIMUM_OPEN | QUADRILLE_MAXIMUM_OPEN | QUADRILLE_EVEN |
                                          QUADRILLE_EXTENDS;
constexpr std::uint32_t task_flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_MAKES_LINKS | QUADRILLE_NEEDS_OPERATOR |
                                     QUADRILLE_NEEDS_SOLVER | QUADRILLE_ON_RANKS;

[[noreturn]] void refuse_descriptor(const std::string& reason) {
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

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

std::vector<std::string> texts(const char* const* list) {
  std::vector<std::string> out;
  for (; list != nullptr && *list != nullptr; ++list) out.emplace_back(*list);
  return out;
}

std::vector<std::vector<std::string>> lists_of_texts(const char* const* const* lists) {
  std::vector<std::vector<std::string>> out;
  for (; lists != nullptr && *lists != nullptr; ++lists) out.push_back(texts(*lists));
  return out;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void refuse_twins(const std::vector<std::string>& names, const std::string& owner) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name)
      refuse_descriptor(fmt::format("{} has '{}' twice", owner, *name));
  }
}

void refuse_unknown_flags(std::uint32_t flags, std::uint32_t known, const std::string& owner) {
  if ((flags & ~known) != 0) refuse_descriptor(fmt::format("{} has the unknown flags {:#x}", owner, flags & ~known));
}

ParameterType type_of(quadrille_parameter_type type, const std::string& owner) {
  switch (type) {
    case QUADRILLE_BOOLEAN: return ParameterType::boolean;
    case QUADRILLE_INTEGER: return ParameterType::integer;
    case QUADRILLE_REAL: return ParameterType::real;
    case QUADRILLE_EARLIER_TASK:
    case QUADRILLE_TEXT: return ParameterType::text;
    case QUADRILLE_CHOICE: return ParameterType::choice;
    case QUADRILLE_FILE_IN: return ParameterType::file_in;
    case QUADRILLE_FILE_OUT: return ParameterType::file_out;
    case QUADRILLE_GROUP: return ParameterType::group;
    case QUADRILLE_LIST: return ParameterType::list;
    case QUADRILLE_NUMBER_OR_WORD: return ParameterType::number_or_word;
    case QUADRILLE_INTEGER4: return ParameterType::integer4;
    case QUADRILLE_BOUNDARY: return ParameterType::boundary;
    case QUADRILLE_VARIANT: return ParameterType::variant;
  }
  refuse_descriptor(fmt::format("{} has the unknown type {}", owner, int(type)));
}

/// Makes the table of a task of its schema.
class SchemaReader {
 public:
  /// What a table does not hold goes into the task.
  SchemaReader(std::size_t parameter_size, ModuleTask& into)
      : size_(parameter_size), earlier_(into.earlier), extends_(into.extends) {}

  ParameterTable table(const quadrille_task& task, const std::string& owner) {
    ParameterTable out{.name = owner, .help = text_of(task.help)};
    out.parameters = parameters(task.parameters, task.parameter_count, owner);
    out.exactly_one_of = lists_of_texts(task.exactly_one_of);
    check_names(out.parameters, out.exactly_one_of, owner);
    for (std::size_t k = 0; k < task.parameter_count; ++k) {
      const quadrille_parameter parameter = read(task.parameters, k, size_);
      note_earlier(parameter);
      if ((parameter.flags & QUADRILLE_EXTENDS) != 0) extends_.emplace_back(parameter.name);
    }
    if (earlier_.size() != met_) {
      refuse_descriptor(
          owner +
          " has an earlier task inside a map: it must be a parameter of the task itself, or a list that is one");
    }
    if (extends_.size() != extending_) {
      refuse_descriptor(owner + " has QUADRILLE_EXTENDS inside a map: it must be a parameter of the task itself");
    }
    return out;
  }

 private:
  std::vector<Parameter> parameters(const quadrille_parameter* array, std::size_t count, const std::string& owner) {
    if (array == nullptr && count > 0)
      refuse_descriptor(fmt::format("{} has {} parameters but no array of them", owner, count));
    std::vector<Parameter> out;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < count; ++k) {
      const quadrille_parameter from = read(array, k, size_);
      if (!is_name(from.name)) refuse_descriptor(fmt::format("parameter {} of {} has no valid name", k, owner));
      names.emplace_back(from.name);
      refuse_twins(names, owner);
      out.push_back(parameter(from, fmt::format("'{}' of {}", from.name, owner)));
      check_conditions(out.back(), {names.begin(), names.end() - 1}, owner);
    }
    for (const Parameter& one : out) {
      for (const std::string& other : one.excludes) {
        if (!holds(names, other))
          refuse_descriptor(fmt::format("'{}' of {} excludes '{}', which is not a parameter", one.name, owner, other));
      }
    }
    return out;
  }

  Parameter parameter(const quadrille_parameter& from, const std::string& owner) {
    Parameter out;
    out.name = from.name;
    out.type = type_of(from.type, owner);
    out.help = text_of(from.help);
    out.unit = text_of(from.unit);
    if (from.default_text != nullptr) out.default_text = from.default_text;
    read_range(out, from, owner);
    extending_ += (from.flags & QUADRILLE_EXTENDS) != 0;
    out.choices = texts(from.choices);
    out.excludes = texts(from.excludes);
    refuse_twins(out.choices, owner);
    for (const quadrille_condition* c = from.only_if; c != nullptr && c->parameter != nullptr; ++c) {
      out.only_if.push_back({c->parameter, texts(c->values)});
    }
    check_choices(out, from, owner);
    read_members(out, from, owner);
    check_default(out, owner);
    return out;
  }

  static void read_range(Parameter& out, const quadrille_parameter& from, const std::string& owner) {
    refuse_unknown_flags(from.flags, parameter_flags, owner);
    const auto flag = [&](std::uint32_t bit) { return (from.flags & bit) != 0; };
    if (flag(QUADRILLE_EXTENDS) && out.type != ParameterType::integer) {
      refuse_descriptor(owner + " has QUADRILLE_EXTENDS but is not an integer");
    }
    out.required = flag(QUADRILLE_REQUIRED);
    out.even = flag(QUADRILLE_EVEN);
    if (flag(QUADRILLE_HAS_MINIMUM)) out.minimum = from.minimum;
    if (flag(QUADRILLE_HAS_MAXIMUM)) out.maximum = from.maximum;
    out.minimum_open = flag(QUADRILLE_MINIMUM_OPEN);
    out.maximum_open = flag(QUADRILLE_MAXIMUM_OPEN);
    if (!(out.minimum <= out.maximum)) refuse_descriptor(fmt::format("{} has a range that contains no number", owner));
    if (from.fewest != 0) out.fewest = from.fewest;
    if (from.most != 0) out.most = from.most;
    if (out.fewest > out.most) refuse_descriptor(fmt::format("{} has {} to {} entries", owner, out.fewest, out.most));
  }

  static void check_choices(const Parameter& out, const quadrille_parameter& from, const std::string& owner) {
    const bool words = out.type == ParameterType::choice || out.type == ParameterType::number_or_word;
    if (words && out.choices.empty()) refuse_descriptor(owner + " is a choice without choices");
    if (from.type == QUADRILLE_EARLIER_TASK && out.choices.size() != 1) {
      refuse_descriptor(owner + " is an earlier task: its only choice must be the kind of that task");
    }
  }

  void read_members(Parameter& out, const quadrille_parameter& from, const std::string& owner) {
    const auto members = [&] { return parameters(from.members, from.member_count, owner); };
    switch (out.type) {
      case ParameterType::group:
        out.members = members();
        out.exactly_one_of = lists_of_texts(from.exactly_one_of);
        check_names(out.members, out.exactly_one_of, owner);
        out.shorthand = text_of(from.shorthand);
        if (!out.shorthand.empty()) check_names(out.members, {{out.shorthand}}, owner);
        return;
      case ParameterType::variant:
        if (from.selector != nullptr) out.selector = from.selector;
        for (Parameter& entry : members()) out.entries.push_back(entry_of(std::move(entry), out.selector, owner));
        if (out.entries.empty()) refuse_descriptor(owner + " is a variant without members");
        return;
      case ParameterType::list:
        out.element = members();
        if (out.element.size() != 1 || out.element[0].type == ParameterType::list) {
          refuse_descriptor(owner + " is a list: it must have one member, which describes an entry and is not a list");
        }
        return;
      default:
        if (from.member_count != 0) refuse_descriptor(owner + " has members but is neither a map nor a list");
        if (from.type == QUADRILLE_EARLIER_TASK) ++met_;
    }
  }

  static ParameterEntry entry_of(Parameter member, const std::string& selector, const std::string& owner) {
    if (member.type != ParameterType::group) {
      refuse_descriptor(fmt::format("{} is a variant: its member '{}' must be a group", owner, member.name));
    }
    for (const Parameter& inner : member.members) {
      if (inner.name == selector)
        refuse_descriptor(fmt::format("'{}' of {} has its selector as a member", member.name, owner));
    }
    ParameterTable table{member.name, member.help, std::move(member.members), std::move(member.exactly_one_of)};
    return {member.name, std::move(table)};
  }

  static void check_names(const std::vector<Parameter>& parameters, const std::vector<std::vector<std::string>>& lists,
                          const std::string& owner) {
    for (const auto& names : lists) {
      for (const std::string& name : names) {
        const auto same = [&](const Parameter& p) { return p.name == name; };
        if (std::none_of(parameters.begin(), parameters.end(), same)) {
          refuse_descriptor(fmt::format("{} names '{}', which is not one of its parameters", owner, name));
        }
      }
    }
  }

  static void check_conditions(const Parameter& parameter, const std::vector<std::string>& before,
                               const std::string& owner) {
    for (const Condition& condition : parameter.only_if) {
      if (holds(before, condition.parameter)) continue;
      refuse_descriptor(fmt::format("'{}' of {} depends on '{}', which must come before it", parameter.name, owner,
                                    condition.parameter));
    }
  }

  /// A default that a job could not have given.
  static void check_default(const Parameter& parameter, const std::string& owner) {
    if (!parameter.default_text) return;
    Parameter alone = parameter;
    alone.only_if.clear();
    std::vector<Error> errors;
    try {
      (void)resolve({.name = "", .help = "", .parameters = {alone}}, Value{}, errors);
    } catch (const Error& error) {
      errors.push_back(error);
    }
    if (!errors.empty()) refuse_descriptor(fmt::format("the default of {}: {}", owner, errors.front().message()));
  }

  void note_earlier(const quadrille_parameter& parameter) {
    const quadrille_parameter value = parameter.type == QUADRILLE_LIST ? read(parameter.members, 0, size_) : parameter;
    if (value.type == QUADRILLE_EARLIER_TASK) earlier_.push_back({parameter.name, value.choices[0]});
  }

  std::size_t size_;
  std::vector<TaskParameter>& earlier_;
  std::vector<std::string>& extends_;
  std::size_t met_ = 0;        ///< parameters that name earlier tasks, wherever they stand
  std::size_t extending_ = 0;  ///< with QUADRILLE_EXTENDS, wherever they stand
};

ModuleTask task_of(const quadrille_module& module, std::size_t index) {
  const quadrille_task from = read(module.tasks, index, module.task_size);
  if (!is_name(from.name)) refuse_descriptor(fmt::format("task {} has no valid name", index));
  const std::string owner = std::string("task ") + from.name;
  if (is_program_task(from.name)) refuse_descriptor(owner + " has the name of a task of the program: choose another");
  refuse_unknown_flags(from.flags, task_flags, owner);
  if (from.run == nullptr) refuse_descriptor(owner + " has no function 'run'");
  const auto needs = [&](std::uint32_t bit) { return (from.flags & bit) != 0; };
  if (needs(QUADRILLE_NEEDS_OPERATOR) && !needs(QUADRILLE_NEEDS_LINKS)) {
    refuse_descriptor(owner + " needs an operator but no links: add QUADRILLE_NEEDS_LINKS");
  }
  if (needs(QUADRILLE_NEEDS_SOLVER) && !needs(QUADRILLE_NEEDS_OPERATOR)) {
    refuse_descriptor(owner + " needs a solver but no operator: add QUADRILLE_NEEDS_OPERATOR");
  }
  ModuleTask task{from.name, {}, {}, {}, from};
  task.table = SchemaReader(module.parameter_size, task).table(from, owner);
  for (const Parameter& parameter : task.table.parameters) {
    if (parameter.name == "task" || parameter.name == "name") {
      refuse_descriptor(owner + " has a parameter 'task' or 'name', which every task has already");
    }
    if ((parameter.name == "operator" && needs(QUADRILLE_NEEDS_OPERATOR)) ||
        (parameter.name == "solver" && needs(QUADRILLE_NEEDS_SOLVER))) {
      refuse_descriptor(fmt::format("{} has a parameter '{}', which comes with its flags", owner, parameter.name));
    }
  }
  return task;
}

std::vector<std::string> blocks_of(const quadrille_module& module) {
  std::vector<std::string> blocks = texts(module.blocks);
  refuse_twins(blocks, "the list of its blocks");
  for (const std::string& block : blocks) {
    if (!is_name(block.c_str()))
      refuse_descriptor(fmt::format("'{}' is not a valid name for a block of results.json", block));
    if (is_program_block(block))
      refuse_descriptor(fmt::format("its block '{}' of results.json belongs to the program", block));
  }
  return blocks;
}

}  // namespace

Module read_descriptor(const quadrille_module* descriptor, const std::string& file) {
  if (descriptor == nullptr) refuse_descriptor("there is none");
  if (descriptor->abi_version != QUADRILLE_MODULE_ABI) {
    throw Error(ErrorCode::unsupported,
                fmt::format("it was built for version {} of the module interface, but this program has version {}: "
                            "build it with the headers of Quadrille " QUADRILLE_VERSION,
                            descriptor->abi_version, QUADRILLE_MODULE_ABI));
  }
  if (descriptor->struct_size < module_size_1 || descriptor->task_size < task_size_1 ||
      descriptor->parameter_size < parameter_size_1) {
    refuse_descriptor("its structs are smaller than those of version 1 of the interface");
  }
  Module out{read(descriptor, 0, descriptor->struct_size), file, {}, {}};
  const quadrille_module& module = out.descriptor;
  if (!is_name(module.name)) refuse_descriptor("the module needs a name (letters, digits and '_', at most 64)");
  if (module.version == nullptr || module.build_id == nullptr) refuse_descriptor("it gives no version or no build id");
  if (module.tasks == nullptr || module.task_count == 0) refuse_descriptor("it offers no task to run");
  out.blocks = blocks_of(module);
  for (std::size_t k = 0; k < module.task_count; ++k) {
    ModuleTask task = task_of(module, k);
    const auto same = [&](const ModuleTask& t) { return t.name == task.name; };
    if (std::any_of(out.tasks.begin(), out.tasks.end(), same))
      refuse_descriptor(fmt::format("two tasks '{}'", task.name));
    out.tasks.push_back(std::move(task));
  }
  return out;
}

}  // namespace quadrille
