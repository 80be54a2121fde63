#include "input/job/schema.h"

#include "core/parameters/parameter_values.h"
#include "input/job/blocks.h"
#include "input/job/document.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

using Json = nlohmann::ordered_json;
using Type = ParameterType;

namespace {

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

/// A default, or a part of it, as JSON.
Json value_json(const Value& value) {
  if (const auto* map = std::get_if<Value::Map>(&value.data)) {
    Json out = Json::object();
    for (const Value::Entry& entry : *map) out[entry.key] = value_json(entry.value);
    return out;
  }
  if (const auto* list = std::get_if<Value::List>(&value.data)) {
    Json out = Json::array();
    for (const Value& entry : *list) out.push_back(value_json(entry));
    return out;
  }
  const auto* scalar = std::get_if<Value::Scalar>(&value.data);
  if (!scalar) return nullptr;
  if (scalar->quoted) return scalar->text;
  if (scalar->text == "true" || scalar->text == "false") return scalar->text == "true";
  if (const auto integer = parse_integer(scalar->text)) return *integer;
  const auto real = parse_real(scalar->text);
  return real ? Json(*real) : Json(scalar->text);
}

Json all_of(const Json& rules) {
  return rules.empty() ? Json(true) : rules.size() == 1 ? rules[0] : Json{{"allOf", rules}};
}
Json any_of(const Json& rules) { return rules.size() == 1 ? rules[0] : Json{{"anyOf", rules}}; }

using Table = std::vector<Parameter>;

Json conditions_hold(const Parameter& parameter, const Table& table);

/// That a parameter has a value, given or by default.
Json is_present(const Parameter& parameter, const Table& table) {
  const Json given = {{"required", Json::array({parameter.name})}};
  if (!parameter.default_text) return given;
  if (parameter.only_if.empty()) return true;
  return any_of(Json::array({given, conditions_hold(parameter, table)}));
}

/// That it has one of some values, given or by default.
Json has_value(const Parameter& parameter, const std::vector<std::string>& values, const Table& table) {
  Json allowed = Json::array();
  for (const std::string& value : values) allowed.push_back(value_json(parse_flow(value, {})));
  const Json given = {{"required", Json::array({parameter.name})},
                      {"properties", {{parameter.name, {{"enum", allowed}}}}}};
  const bool by_default =
      parameter.default_text && std::find(values.begin(), values.end(), *parameter.default_text) != values.end();
  if (!by_default) return given;
  const Json left_out = {{"not", {{"required", Json::array({parameter.name})}}}};
  const Json conditions = conditions_hold(parameter, table);
  return any_of(Json::array({given, conditions == true ? left_out : all_of(Json::array({left_out, conditions}))}));
}

Json conditions_hold(const Parameter& parameter, const Table& table) {
  Json all = Json::array();
  for (const Condition& condition : parameter.only_if) {
    Json any = Json::array();
    for (const std::string& name : condition_names(condition)) {
      const auto other =
          std::find_if(table.begin(), table.end(), [&](const Parameter& one) { return one.name == name; });
      if (other == table.end()) continue;
      any.push_back(condition.values.empty() ? is_present(*other, table) : has_value(*other, condition.values, table));
    }
    all.push_back(any_of(any));
  }
  return all_of(all);
}

/// What a parameter excludes, and what it needs, as rules of its table.
void add_rules(Json& rules, const Parameter& parameter, const Table& table) {
  const Json given = {{"required", Json::array({parameter.name})}};
  for (const std::string& other : parameter.excludes) {
    rules.push_back({{"not", {{"required", {parameter.name, other}}}}});
  }
  if (parameter.only_if.empty()) return;
  const Json hold = conditions_hold(parameter, table);
  rules.push_back({{"if", given}, {"then", hold}});
  if (parameter.required) rules.push_back({{"if", hold}, {"then", given}});
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
    case Type::file_out: out = {{"type", {"string", "number", "boolean"}}, {"minLength", 1}}; break;  // `name: 5`
    case Type::choice: {
      Json values = Json::array();
      for (const std::string& choice : parameter.choices) values.push_back(choice_json(choice));
      out["enum"] = values;
      break;
    }
    case Type::number_or_word: {
      Json number = {{"type", parameter.whole ? "integer" : "number"}};
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
  std::string help = parameter.help + conditions_text(parameter);
  if (!parameter.unit.empty()) help += "; in " + parameter.unit;
  out["description"] = std::move(help);
  if (parameter.default_text) out["default"] = value_json(parse_flow(*parameter.default_text, {}));
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
    add_rules(all, parameter, parameters);
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

}  // namespace

Json job_schema() {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", "Quadrille job"}};
  out.update(table_schema(job_table().parameters, {}));
  out["properties"]["run"] = {{"type", "array"}, {"items", schema(task_block())}};
  out["properties"]["run"]["description"] = task_block().help;
  out["anyOf"] = Json::array({Json{{"required", {"gauge"}}}, Json{{"required", {"run"}}}});
  return out;
}

Json words_schema(const ParameterTable& table) { return table_schema(table.parameters, table.exactly_one_of); }

}  // namespace quadrille
