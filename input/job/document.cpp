#include "input/job/document.h"

#include "core/parameters/parameter_values.h"
#include "input/job/blocks.h"
#include "input/job/help_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace quadrille {

using Json = nlohmann::ordered_json;
using Type = ParameterType;

namespace {

Json item_json(const Parameters::Item& item) {
  if (item.group) return to_json(*item.group);
  switch (item.type) {
    case Type::boolean: return std::get<bool>(item.scalar);
    case Type::integer: return std::get<std::int64_t>(item.scalar);
    case Type::real: return std::get<double>(item.scalar);
    case Type::choice: return choice_json(std::get<std::string>(item.scalar));
    case Type::number_or_word:
      return std::holds_alternative<double>(item.scalar) ? Json(std::get<double>(item.scalar))
                                                         : Json(std::get<std::string>(item.scalar));
    case Type::integer4: return std::get<std::array<int, 4>>(item.scalar);
    case Type::boundary: {
      Json out = Json::array();
      for (const double phase : std::get<std::array<double, 4>>(item.scalar)) {
        out.push_back(phase == 0 || phase == 1 ? Json(boundary_text(phase)) : Json{{"phase", phase}});
      }
      return out;
    }
    case Type::list: {
      Json out = Json::array();
      for (const auto& entry : item.list) out.push_back(item_json(entry));
      return out;
    }
    default: return std::get<std::string>(item.scalar);
  }
}

}  // namespace

Json choice_json(const std::string& text) {
  const auto number = parse_integer(text);
  return number && std::to_string(*number) == text ? Json(*number) : Json(text);
}

std::string conditions_text(const Parameter& parameter) {
  std::string text;
  for (const Condition& condition : parameter.only_if) {
    text += condition.values.empty()
                ? fmt::format("; only together with {}", fmt::join(condition_names(condition), " or "))
                : fmt::format("; only with {}: {}", condition.parameter, fmt::join(condition.values, " or "));
  }
  return text;
}

std::string value_text(const Parameter& parameter) {
  std::string text;
  switch (parameter.type) {
    case Type::boolean: text = "true | false"; break;
    case Type::integer: text = "whole number"; break;
    case Type::real: text = "real number"; break;
    case Type::text: text = "text"; break;
    case Type::choice: text = fmt::format("{}", fmt::join(parameter.choices, " | ")); break;
    case Type::number_or_word:
      text = fmt::format("{} | {} number", fmt::join(parameter.choices, " | "), parameter.whole ? "whole" : "real");
      break;
    case Type::file_in: text = "file, relative to the job file"; break;
    case Type::file_out: text = "file, relative to the output folder"; break;
    case Type::integer4: text = "four whole numbers [x, y, z, t]"; break;
    case Type::boundary: text = "four of periodic | antiperiodic | {phase: theta/pi}"; break;
    case Type::group:
      text = parameter.shorthand.empty() ? "map" : fmt::format("{}, or a map", parameter.shorthand);
      break;
    case Type::variant: {
      std::vector<std::string> names;
      for (const ParameterEntry& entry : parameter.entries) names.push_back(entry.name);
      text = fmt::format("map with {}: {}", parameter.selector, fmt::join(names, " | "));
      if (!parameter.shorthand.empty()) text = fmt::format("{}, or a map", fmt::join(names, " | "));
      break;
    }
    case Type::list: {
      const std::string entry = value_text(parameter.element.at(0));
      text = (parameter.shorthand.empty() ? "" : entry + ", or a ") + "list, each entry: " + entry;
      break;
    }
  }
  const std::string range = range_text(parameter);
  if (!range.empty()) text += ", " + range;
  return parameter.unit.empty() ? text : text + ", in " + parameter.unit;
}

namespace {

/// "real number, > 0, in 1/a; default 1".
std::string type_text(const Parameter& parameter) {
  std::string text = value_text(parameter);
  if (parameter.default_text && *parameter.default_text != "{}") text += "; default " + *parameter.default_text;
  if (parameter.required) text += "; required";
  return text + conditions_text(parameter);
}

std::string line_of(const Parameter& parameter, const std::string& indent) {
  return fmt::format("{}{}: {}\n", indent, parameter.name, type_text(parameter)) +
         (parameter.help.empty() ? "" : fmt::format("{}    {}\n", indent, parameter.help));
}

void list_parameters(std::string& out, const std::vector<Parameter>& parameters,
                     const std::vector<std::vector<std::string>>& one_of, const std::string& indent) {
  for (const Parameter& parameter : parameters) {
    out += line_of(parameter, indent);
    const Parameter& map = parameter.type == Type::list ? parameter.element.at(0) : parameter;
    if (map.type == Type::group) list_parameters(out, map.members, map.exactly_one_of, indent + "  ");
  }
  for (const auto& names : one_of) out += fmt::format("{}Give exactly one of {}.\n", indent, fmt::join(names, ", "));
}

[[noreturn]] void no_help(const std::string& what, const std::string& word, const std::vector<std::string>& names) {
  const std::string near = nearest_name(word, names);
  throw Error(ErrorCode::invalid_input,
              fmt::format("there is no {} '{}'; {}", what, word,
                          near.empty() ? fmt::format("there {} {}", names.size() == 1 ? "is only" : "are",
                                                     fmt::join(names, ", "))
                                       : fmt::format("did you mean '{}'?", near)));
}

const Parameter& find_parameter(const std::vector<Parameter>& parameters, const std::string& what,
                                const std::string& word) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) {
    if (parameter.name == word) return parameter;
    names.push_back(parameter.name);
  }
  no_help(what, word, names);
}

const ParameterEntry& find_entry(const Parameter& parameter, const std::string& word) {
  std::vector<std::string> names;
  for (const ParameterEntry& entry : parameter.entries) {
    if (entry.name == word) return entry;
    names.push_back(entry.name);
  }
  no_help(parameter.name, word, names);
}

/// The sources of propagators, and those, and parameters of them, that only another task has.
Parameter all_sources(const Parameter& task) {
  const auto named = [](auto& all, const std::string& name) {
    return std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
  };
  Parameter source = source_block();
  for (const ParameterEntry& kind : task.entries) {
    for (const Parameter& parameter : kind.table.parameters) {
      if (parameter.name != source.name || parameter.type != Type::variant) continue;
      const std::string only = fmt::format(" (task {} only)", kind.name);
      for (ParameterEntry entry : parameter.entries) {
        const auto known = named(source.entries, entry.name);
        if (known == source.entries.end()) {
          entry.table.help += only;
          source.entries.push_back(std::move(entry));
          continue;
        }
        std::vector<Parameter>& keys = known->table.parameters;
        for (Parameter key : entry.table.parameters) {
          if (named(keys, key.name) != keys.end()) continue;
          key.help += only;
          keys.push_back(std::move(key));
        }
      }
    }
  }
  return source;
}

}  // namespace

std::vector<Parameter> help_topics() {
  Parameter task = task_block();
  task.name = "task";
  return {gauge_block(), ensemble_block(), operator_block(), solver_block(), task, all_sources(task)};
}

Json to_json(const Parameters& parameters) {
  Json out = Json::object();
  for (const auto& [name, item] : parameters.items()) out[name] = item_json(item);
  return out;
}

std::string parameter_help(const Parameter& parameter) {
  std::string out = fmt::format("{}: {}\n", parameter.name, parameter.help);
  if (parameter.type == Type::variant) {
    for (const ParameterEntry& entry : parameter.entries) {
      out += fmt::format("  {}: {}\n      {}\n", parameter.selector, entry.name, entry.table.help);
    }
  } else if (parameter.type == Type::group) {
    list_parameters(out, parameter.members, parameter.exactly_one_of, "  ");
  } else {
    out += "  " + type_text(parameter) + "\n";
  }
  return out;
}

std::string parameter_line(const Parameter& parameter) { return line_of(parameter, "  "); }

namespace {

std::string list_of_topics(const std::vector<Parameter>& topics) {
  std::string out =
      "Blocks of a job (`quadrille help BLOCK [NAME]` explains one, `quadrille help WORD` finds any word):\n";
  for (const Parameter& topic : topics) {
    out += fmt::format("  {:<10}{}\n", topic.name, topic.help);
    for (const ParameterEntry& entry : topic.entries) {
      out += fmt::format("  {:<10}  {}: {}\n", "", entry.name, entry.table.help);
    }
  }
  return out;
}

/// Goes from block to entry to parameter.
std::string help_along(const std::vector<Parameter>& topics, const std::vector<std::string>& words) {
  std::vector<Parameter> inside = topics;
  const Parameter* at = nullptr;
  Parameter found;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const Parameter* map = at && at->type == Type::list ? &at->element.at(0) : at;
    if (map) inside = map->members;
    if (map && map->type == Type::variant) {
      const ParameterEntry entry = find_entry(*map, words[k]);
      if (k + 1 == words.size()) {
        std::string out = fmt::format("{}: {}\n", entry.table.name, entry.table.help);
        list_parameters(out, entry.table.parameters, entry.table.exactly_one_of, "  ");
        return out;
      }
      inside = entry.table.parameters;
      at = nullptr;
      continue;
    }
    // A job's list of tasks is called `run`.
    found = Parameter(
        find_parameter(inside, k == 0 ? "block" : "parameter", k == 0 && words[k] == "run" ? "task" : words[k]));
    at = &found;
  }
  return parameter_help(*at);
}

}  // namespace

std::string help_text(const std::vector<std::string>& words) {
  const std::vector<Parameter> topics = help_topics();
  if (words.empty()) return list_of_topics(topics);
  for (const Parameter& topic : topics) {  // "solvers", which a task has as a parameter, too
    if (topic.entries.empty() || words.size() != 1 || words[0] != topic.name + "s") continue;
    const std::string found = help_search(topics, words);
    return parameter_help(topic) + (found.empty() ? "" : "\n" + found);
  }
  try {
    return help_along(topics, words);
  } catch (const Error&) {
    const std::string found = help_search(topics, words);
    if (!found.empty()) return found;
    const std::string absent = not_there_yet(topics, words);
    if (!absent.empty()) throw Error(ErrorCode::invalid_input, absent);
    const std::string near = words.size() == 1 ? nearest_in_tables(topics, words[0]) : "";
    if (near.empty()) throw;
    throw Error(ErrorCode::invalid_input, fmt::format("there is no '{}'; did you mean '{}'?", words[0], near));
  }
}

}  // namespace quadrille
