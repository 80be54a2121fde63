#include "core/parameters/parameters.h"

#include "core/parameters/parameter_resolver.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace quadrille {

namespace {

bool is_shorthand(const Parameter& parameter, const Value& value) {
  return !parameter.shorthand.empty() && std::holds_alternative<Value::Scalar>(value.data);
}

/// The map that a scalar stands for.
Value written_out(const Parameter& parameter, const Value& value) {
  return {Value::Map{{parameter.shorthand, value.where, value}}, value.where};
}

std::string condition_text(const Condition& condition) {
  if (condition.values.empty())
    return fmt::format("together with '{}'", fmt::join(condition_names(condition), "' or '"));
  return fmt::format("with {}: {}", condition.parameter, fmt::join(condition.values, " or "));
}

const Value* find(const Value::Map& map, const std::string& key) {
  for (const auto& entry : map) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

}  // namespace

std::vector<std::string> condition_names(const Condition& condition) {
  std::vector<std::string> names(1);
  for (const char c : condition.parameter) {
    if (c == '|') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  return names;
}

Parameters ParameterResolver::block(const ParameterTable& table, const Value& value,
                                    const std::vector<std::string>& skip, const std::string& path, bool given) {
  Block block{table, {}, {}, {}, {}, path, given};
  block.out.where_ = value.where;
  static const Value::Map nothing;
  const Value::Map* map = std::get_if<Value::Map>(&value.data);
  if (!map) {
    map = &nothing;
    if (!std::holds_alternative<std::monostate>(value.data)) {
      add(value.where, fmt::format("{} must be a map of keys and values, got {}", table.name, brief(value)));
      return block.out;
    }
  }
  check_unknown(*map, block, skip);
  for (const auto& entry : *map) block.entries.emplace(entry.key, &entry);
  check_exclusions(block);
  for (const Parameter& parameter : table.parameters) one_parameter(parameter, block);
  return block.out;
}

void ParameterResolver::one_parameter(const Parameter& parameter, Block& block) {
  const std::string name = block.path + parameter.name;
  const auto found = block.entries.find(parameter.name);
  const bool here = found != block.entries.end();
  State& state = block.states[parameter.name];
  state = here ? State::broken : State::absent;
  bool unknown = false;
  if (const Condition* failed = failed_condition(parameter, block, unknown)) {
    if (here) {
      add(found->second->where, fmt::format("'{}' is used only {}", name, condition_text(*failed)));
    }
    return;
  }
  std::optional<Item> item;
  if (here) {
    item = this->item(parameter, found->second->value, name, block.given);
  } else if (parameter.default_text) {
    item = this->item(parameter, parse_flow(*parameter.default_text, block.out.where_), name, false);
  } else if (parameter.required && !unknown) {
    add(block.out.where_, fmt::format("'{}' is missing{}: give {}", name, in_table(block), expected_form(parameter)));
    state = State::broken;
  }
  if (!item) return;
  // What depends on one of two contradicting parameters cannot be judged: which of them is meant is not known.
  state = block.contradicting.count(parameter.name) > 0 ? State::broken : State::present;
  block.out.items_.emplace_back(parameter.name, std::move(*item));
}

bool ParameterResolver::has_value_of(const Condition& condition, const std::string& name, const Block& block) {
  if (condition.values.empty()) return true;
  const auto& items = block.out.items_;
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& pair) { return pair.first == name; });
  return std::find(condition.values.begin(), condition.values.end(), text_of(found->second)) != condition.values.end();
}

const Condition* ParameterResolver::failed_condition(const Parameter& parameter, const Block& block,
                                                     bool& unknown) const {
  const Condition* failed = nullptr;
  for (const Condition& condition : parameter.only_if) {
    bool holds = false;
    for (const std::string& name : condition_names(condition)) {
      const auto state = block.states.find(name);
      if (state == block.states.end()) {
        throw Error(ErrorCode::internal, fmt::format("{}: '{}' depends on '{}', which must come before it in the table",
                                                     block.table.name, parameter.name, name));
      }
      if (state->second == State::broken) {
        unknown = true;
        return nullptr;
      }
      holds = holds || (state->second == State::present && has_value_of(condition, name, block));
    }
    if (!holds && !failed) failed = &condition;
  }
  return failed;
}

void ParameterResolver::check_unknown(const Value::Map& map, const Block& block, const std::vector<std::string>& skip) {
  std::vector<std::string> names = skip;
  for (const Parameter& parameter : block.table.parameters) names.push_back(parameter.name);
  for (const auto& entry : map) {
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    const std::string near = nearest_name(entry.key, names);
    add(entry.where, fmt::format("unknown key '{}{}'{}; {}", block.path, entry.key, in_table(block),
                                 near.empty() ? fmt::format("the keys are {}", fmt::join(names, ", "))
                                              : fmt::format("did you mean '{}'?", near)));
  }
}

void ParameterResolver::check_exclusions(Block& block) {
  const auto here = [&](const std::string& name) { return block.entries.count(name) > 0; };
  for (const Parameter& parameter : block.table.parameters) {
    if (!here(parameter.name)) continue;
    for (const std::string& other : parameter.excludes) {
      if (here(other)) {
        block.contradicting.insert({parameter.name, other});
        add(block.entries.at(parameter.name)->where,
            fmt::format("'{}{}' cannot be combined with '{}{}' ({})", block.path, parameter.name, block.path, other,
                        to_string(block.entries.at(other)->where)));
      }
    }
  }
  for (const auto& names : block.table.exactly_one_of) {
    std::vector<std::string> present;
    std::copy_if(names.begin(), names.end(), std::back_inserter(present), here);
    if (present.empty()) {
      add(block.out.where_,
          fmt::format("{} needs exactly one of '{}'; none is given", block.table.name, fmt::join(names, "', '")));
    }
    if (present.size() > 1) block.contradicting.insert(present.begin(), present.end());
    for (std::size_t k = 1; k < present.size(); ++k) {
      add(block.entries.at(present[k])->where,
          fmt::format("{} takes exactly one of '{}'; '{}' is already given ({})", block.table.name,
                      fmt::join(names, "', '"), present[0], to_string(block.entries.at(present[0])->where)));
    }
  }
}

std::optional<Parameters::Item> ParameterResolver::item(const Parameter& parameter, const Value& value,
                                                        const std::string& name, bool given) {
  if (std::holds_alternative<std::monostate>(value.data)) {
    add(value.where, fmt::format("'{}' has no value: give {}", name, expected_form(parameter)));
    return {};
  }
  std::optional<Item> out;
  switch (parameter.type) {
    case ParameterType::integer4:
    case ParameterType::boundary: out = four(parameter, value, name); break;
    case ParameterType::group: {
      if (is_shorthand(parameter, value)) return item(parameter, written_out(parameter, value), name, given);
      if (!std::holds_alternative<Value::Map>(value.data)) {
        wrong_type(parameter, value, name);
        return {};
      }
      const ParameterTable table{name, parameter.help, parameter.members, parameter.exactly_one_of};
      const std::size_t before = errors_.size();
      Parameters group = block(table, value, {}, name + ".", given);
      if (errors_.size() > before) return {};
      out.emplace().group = std::make_shared<const Parameters>(std::move(group));
      break;
    }
    case ParameterType::variant: {
      const std::size_t before = errors_.size();
      auto group = variant(parameter, value, name, given);
      if (!group || errors_.size() > before) return {};
      out.emplace().group = std::move(group);
      break;
    }
    case ParameterType::list: out = list(parameter, value, name, given); break;
    default: out = scalar(parameter, value, name);
  }
  if (!out) return {};
  out->type = parameter.type;
  out->given = given;
  out->where = value.where;
  return out;
}

std::shared_ptr<const Parameters> ParameterResolver::variant(const Parameter& parameter, const Value& value,
                                                             const std::string& name, bool given) {
  if (is_shorthand(parameter, value)) {
    const auto choice = item(selector_of(parameter), value, name, given);
    return choice ? variant(parameter, written_out(parameter, value), name, given) : nullptr;
  }
  const auto* map = std::get_if<Value::Map>(&value.data);
  if (!map) {
    wrong_type(parameter, value, name);
    return nullptr;
  }
  const Parameter selector = selector_of(parameter);
  const Value* chosen = find(*map, selector.name);
  if (!chosen) {
    add(value.where, fmt::format("'{}' is missing in {}: give {}", selector.name, name, expected_form(selector)));
    check_without_entry(parameter, *map, name, given);
    return nullptr;
  }
  const auto choice = item(selector, *chosen, selector.name, given);
  if (!choice) {
    check_without_entry(parameter, *map, name, given);
    return nullptr;
  }
  const std::string kind = std::get<std::string>(choice->scalar);
  const auto entry = std::find_if(parameter.entries.begin(), parameter.entries.end(),
                                  [&](const ParameterEntry& candidate) { return candidate.name == kind; });
  Parameters inner = block(entry->table, value, {selector.name}, "", given);
  inner.items_.insert(inner.items_.begin(), {selector.name, *choice});
  return std::make_shared<const Parameters>(std::move(inner));
}

/// What is wrong with the map of a variant whatever its selector should be: keys that no entry has, and values that are
/// wrong in all entries with that key.
void ParameterResolver::check_without_entry(const Parameter& parameter, const Value::Map& map, const std::string& name,
                                            bool given) {
  std::vector<std::string> names = {parameter.selector};
  std::multimap<std::string, const Parameter*> known;
  for (const ParameterEntry& entry : parameter.entries) {
    for (const Parameter& one : entry.table.parameters) {
      names.push_back(one.name);
      known.emplace(one.name, &one);
    }
  }
  for (const Value::Entry& entry : map) {
    if (entry.key == parameter.selector) continue;
    const auto [first, last] = known.equal_range(entry.key);
    if (first == last) {
      const std::string near = nearest_name(entry.key, names);
      add(entry.where, fmt::format("unknown key '{}' in {}; {}", entry.key, name,
                                   near.empty() ? fmt::format("no {} has it", parameter.selector)
                                                : fmt::format("did you mean '{}'?", near)));
      continue;
    }
    std::vector<Error> of_first;
    bool right = false;
    for (auto at = first; at != last && !right; ++at) {
      std::vector<Error> here;
      ParameterResolver(here).item(*at->second, entry.value, entry.key, given);
      right = here.empty();
      if (at == first) of_first = std::move(here);
    }
    if (!right) errors_.insert(errors_.end(), of_first.begin(), of_first.end());
  }
}

std::optional<Parameters::Item> ParameterResolver::list(const Parameter& parameter, const Value& value,
                                                        const std::string& name, bool given) {
  if (is_shorthand(parameter, value)) return list(parameter, {Value::List{value}, value.where}, name, given);
  const auto* values = std::get_if<Value::List>(&value.data);
  if (!values || values->size() < parameter.fewest || values->size() > parameter.most) {
    wrong_type(parameter, value, name, values ? entries_text(values->size()).c_str() : "");
    return {};
  }
  Item out;
  bool good = true;
  for (std::size_t k = 0; k < values->size(); ++k) {
    auto entry = item(parameter.element.at(0), (*values)[k], fmt::format("{}[{}]", name, k), given);
    good = good && entry;
    if (!entry) continue;
    const auto twin =
        std::find_if(out.list.begin(), out.list.end(), [&](const Item& other) { return same(other, *entry); });
    if (twin != out.list.end() && !parameter.repeats) {
      add((*values)[k].where, fmt::format("'{}[{}]' is in the list already ({}): {}", name, k, to_string(twin->where),
                                          brief((*values)[k])));
      good = false;
    }
    out.list.push_back(std::move(*entry));
  }
  if (!good) return {};
  return out;
}

Parameters resolve(const ParameterTable& table, const Value& block, std::vector<Error>& errors,
                   const std::vector<std::string>& skip) {
  return ParameterResolver(errors).block(table, block, skip, "", true);
}

std::shared_ptr<const Parameters> resolve_variant(const Parameter& parameter, const Value& value,
                                                  std::vector<Error>& errors) {
  const auto item = ParameterResolver(errors).item(parameter, value, parameter.name, true);
  return item ? item->group : nullptr;
}

}  // namespace quadrille
