#include "input/job/document.h"

#include "core/parameters/parameter_values.h"
#include "input/job/blocks.h"
#include "input/job/help_search.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

using Json = nlohmann::ordered_json;
using Type = ParameterType;

namespace {

/// A choice that looks like a whole number is one in JSON ("reconstruct": 12).
Json choice_json(const std::string& text) {
  const auto number = parse_integer(text);
  return number && std::to_string(*number) == text ? Json(*number) : Json(text);
}

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

Json table_schema(const std::vector<Parameter>& parameters, const std::vector<std::vector<std::string>>& one_of);
Json schema(const Parameter& parameter);

void add_range(Json& out, const Parameter& parameter, bool even) {
  if (std::isfinite(parameter.minimum))
    out[parameter.minimum_open ? "exclusiveMinimum" : "minimum"] = parameter.minimum;
  if (std::isfinite(parameter.maximum))
    out[parameter.maximum_open ? "exclusiveMaximum" : "maximum"] = parameter.maximum;
  if (even) out["multipleOf"] = 2;
}

Json boundary_schema() {
  Json phase = {{"type", "object"}, {"additionalProperties", false}, {"required", {"phase"}}};
  phase["properties"] = {{"phase", {{"type", "number"}, {"minimum", -2}, {"maximum", 2}}}};
  return {{"anyOf", Json::array({Json{{"enum", {"periodic", "antiperiodic"}}}, phase})}};
}

/// "file or files" of "file|files".
std::string names_between_bars(std::string names) {
  for (std::size_t bar = names.find('|'); bar != names.npos; bar = names.find('|', bar)) names.replace(bar, 1, " or ");
  return names;
}

std::string conditions_text(const Parameter& parameter) {
  std::string text;
  for (const Condition& condition : parameter.only_if) {
    text += condition.values.empty()
                ? fmt::format("; only together with {}", names_between_bars(condition.parameter))
                : fmt::format("; only with {}: {}", condition.parameter, fmt::join(condition.values, " or "));
  }
  return text;
}

Json variant_schema(const Parameter& parameter) {
  Json choices = Json::array();
  for (const ParameterEntry& entry : parameter.entries) {
    Json one = table_schema(entry.table.parameters, entry.table.exactly_one_of);
    Json properties = {{parameter.selector, {{"const", entry.name}}}};
    properties.update(one["properties"]);
    one["properties"] = properties;
    one["required"].insert(one["required"].begin(), parameter.selector);
    one["description"] = entry.table.help;
    choices.push_back(std::move(one));
  }
  if (!parameter.shorthand.empty()) {
    Json names = Json::array();
    for (const ParameterEntry& entry : parameter.entries) names.push_back(entry.name);
    choices.push_back({{"enum", names}});
  }
  return {{"oneOf", choices}};
}

Json group_schema(const Parameter& parameter) {
  Json map = table_schema(parameter.members, parameter.exactly_one_of);
  for (const Parameter& member : parameter.members) {
    if (member.name == parameter.shorthand) return {{"anyOf", Json::array({schema(member), map})}};
  }
  return map;
}

Json schema(const Parameter& parameter) {
  Json out = Json::object();
  switch (parameter.type) {
    case Type::boolean: out["type"] = "boolean"; break;
    case Type::integer:
      out["type"] = "integer";
      add_range(out, parameter, parameter.even);
      break;
    case Type::real:
      out["type"] = "number";
      add_range(out, parameter, false);
      break;
    case Type::text:
    case Type::file_in:
    case Type::file_out: out = {{"type", "string"}, {"minLength", 1}}; break;
    case Type::choice: {
      Json values = Json::array();
      for (const std::string& choice : parameter.choices) values.push_back(choice_json(choice));
      out["enum"] = values;
      break;
    }
    case Type::number_or_word: {
      Json number = {{"type", "number"}};
      add_range(number, parameter, false);
      out["anyOf"] = Json::array({Json{{"enum", parameter.choices}}, number});
      break;
    }
    case Type::integer4: {
      Json item = {{"type", "integer"}};
      add_range(item, parameter, parameter.even);
      out = {{"type", "array"}, {"minItems", 4}, {"maxItems", 4}, {"items", item}};
      break;
    }
    case Type::boundary:
      out = {{"type", "array"}, {"minItems", 4}, {"maxItems", 4}, {"items", boundary_schema()}};
      break;
    case Type::group: out = group_schema(parameter); break;
    case Type::variant: out = variant_schema(parameter); break;
    case Type::list:
      out = {{"type", "array"},
             {"minItems", parameter.fewest},
             {"maxItems", parameter.most},
             {"uniqueItems", !parameter.repeats}};
      out["items"] = schema(parameter.element.at(0));
      if (!parameter.shorthand.empty()) out = {{"anyOf", Json::array({out["items"], out})}};
      break;
  }
  out["description"] = parameter.help + conditions_text(parameter);
  return out;
}

Json table_schema(const std::vector<Parameter>& parameters, const std::vector<std::vector<std::string>>& one_of) {
  Json out = {{"type", "object"}, {"additionalProperties", false}};
  Json properties = Json::object();
  Json required = Json::array();
  Json all = Json::array();
  for (const Parameter& parameter : parameters) {
    properties[parameter.name] = schema(parameter);
    if (parameter.required && parameter.only_if.empty()) required.push_back(parameter.name);
    for (const std::string& other : parameter.excludes) {
      all.push_back({{"not", {{"required", {parameter.name, other}}}}});
    }
  }
  for (const auto& names : one_of) {
    Json choices = Json::array();
    for (const std::string& name : names) choices.push_back({{"required", Json::array({name})}});
    all.push_back({{"oneOf", choices}});
  }
  out["properties"] = properties;
  out["required"] = required;
  if (!all.empty()) out["allOf"] = all;
  return out;
}

/// "real > 0, 1/a".
std::string type_text(const Parameter& parameter) {
  std::string text;
  switch (parameter.type) {
    case Type::boolean: text = "true | false"; break;
    case Type::integer: text = "whole number"; break;
    case Type::real: text = "real number"; break;
    case Type::text: text = "text"; break;
    case Type::choice: text = fmt::format("{}", fmt::join(parameter.choices, " | ")); break;
    case Type::number_or_word: text = fmt::format("{} | real number", fmt::join(parameter.choices, " | ")); break;
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
      const std::string entry = type_text(parameter.element.at(0));
      text = (parameter.shorthand.empty() ? "" : entry + ", or a ") + "list, each entry: " + entry;
      break;
    }
  }
  const std::string range = range_text(parameter);
  if (!range.empty()) text += ", " + range;
  if (!parameter.unit.empty()) text += ", in " + parameter.unit;
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

std::vector<Parameter> help_topics() {
  Parameter task = task_block();
  task.name = "task";
  return {gauge_block(), ensemble_block(), operator_block(), solver_block(), task, all_sources(task)};
}

}  // namespace

Json to_json(const Parameters& parameters) {
  Json out = Json::object();
  for (const auto& [name, item] : parameters.items()) out[name] = item_json(item);
  return out;
}

Json job_schema() {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Quadrille job"}};
  out.update(table_schema(job_table().parameters, {}));
  out["properties"]["run"] = {{"type", "array"}, {"items", schema(task_block())}};
  return out;
}

Json words_schema(const ParameterTable& table) { return table_schema(table.parameters, table.exactly_one_of); }

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
