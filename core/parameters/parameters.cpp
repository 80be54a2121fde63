#include "core/parameters/parameters.h"

#include "core/parameters/parameter_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace quadrille {

// One pass over a table and a block: fills a Parameters and appends every error it meets.
class ParameterResolver {
 public:
  using Item = Parameters::Item;

  explicit ParameterResolver(std::vector<Error>& errors) : errors_(errors) {}

  /// `path` prefixes names in messages ("sloppy."); `given` is false inside a default.
  Parameters block(const ParameterTable& table, const Value& value, const std::vector<std::string>& skip,
                   const std::string& path, bool given);
  std::optional<Item> item(const Parameter& parameter, const Value& value, const std::string& name, bool given);

 private:
  /// How far a parameter of the block at hand came.
  enum class State { absent, broken, present };
  struct Block {
    const ParameterTable& table;
    std::map<std::string, const Value::Entry*> entries;
    std::map<std::string, State> states;
    std::set<std::string> contradicting;  ///< given, but one of those that cannot be given together
    Parameters out;
    std::string path;
    bool given;
  };

  /// Where a name without a path belongs: " in operator wilson".
  static std::string in_table(const Block& block) { return block.path.empty() ? " in " + block.table.name : ""; }
  void one_parameter(const Parameter& parameter, Block& block);
  /// The first condition that does not hold; null when all hold, or when one cannot be judged (`unknown`).
  const Condition* failed_condition(const Parameter& parameter, const Block& block, bool& unknown) const;
  void check_unknown(const Value::Map& map, const Block& block, const std::vector<std::string>& skip);
  void check_exclusions(Block& block);
  void check_without_entry(const Parameter& parameter, const Value::Map& map, const std::string& name, bool given);
  std::optional<double> number(const Parameter& parameter, const Value& value, const std::string& name);
  std::optional<std::int64_t> whole(const Parameter& parameter, const Value& value, const std::string& name);
  std::optional<Item> scalar(const Parameter& parameter, const Value& value, const std::string& name);
  std::optional<Item> four(const Parameter& parameter, const Value& value, const std::string& name);
  std::optional<double> boundary_entry(const Value& value, const std::string& name);
  std::optional<Item> list(const Parameter& parameter, const Value& value, const std::string& name, bool given);
  std::shared_ptr<const Parameters> variant(const Parameter& parameter, const Value& value, const std::string& name,
                                            bool given);
  bool in_range(const Parameter& parameter, double number, const std::string& text, const Value& value,
                const std::string& name);

  void add(const Location& where, std::string message) {
    errors_.emplace_back(ErrorCode::invalid_input, std::move(message), where);
  }
  void wrong_type(const Parameter& parameter, const Value& value, const std::string& name, const char* more = "") {
    add(value.where, fmt::format("'{}' must be {}, got {}{}", name, expected_form(parameter), brief(value), more));
  }

  std::vector<Error>& errors_;
};

namespace {

std::string text_of(const Parameters::Item& item) {
  if (const auto* text = std::get_if<std::string>(&item.scalar)) return *text;
  if (const auto* flag = std::get_if<bool>(&item.scalar)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&item.scalar)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&item.scalar)) return real_text(*real);
  return {};
}

std::string entries_text(std::size_t count) { return fmt::format(" ({} {})", count, count == 1 ? "entry" : "entries"); }

std::string condition_text(const Condition& condition) {
  if (condition.values.empty()) return fmt::format("together with '{}'", condition.parameter);
  return fmt::format("with {}: {}", condition.parameter, fmt::join(condition.values, " or "));
}

const Value* find(const Value::Map& map, const std::string& key) {
  for (const auto& entry : map) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

}  // namespace

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

const Condition* ParameterResolver::failed_condition(const Parameter& parameter, const Block& block,
                                                     bool& unknown) const {
  const Condition* failed = nullptr;
  for (const Condition& condition : parameter.only_if) {
    const auto state = block.states.find(condition.parameter);
    if (state == block.states.end()) {
      throw Error(ErrorCode::internal, fmt::format("{}: '{}' depends on '{}', which must come before it in the table",
                                                   block.table.name, parameter.name, condition.parameter));
    }
    if (state->second == State::broken) {
      unknown = true;
      return nullptr;
    }
    bool holds = state->second == State::present;
    if (holds && !condition.values.empty()) {
      const auto& items = block.out.items_;
      const auto other =
          std::find_if(items.begin(), items.end(), [&](const auto& pair) { return pair.first == condition.parameter; });
      const auto& values = condition.values;
      holds = std::find(values.begin(), values.end(), text_of(other->second)) != values.end();
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
      if (!parameter.shorthand.empty() && std::holds_alternative<Value::Scalar>(value.data)) {
        return item(parameter, Value{Value::Map{{parameter.shorthand, value.where, value}}, value.where}, name, given);
      }
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
  const auto* map = std::get_if<Value::Map>(&value.data);
  if (!map) {
    wrong_type(parameter, value, name);
    return nullptr;
  }
  Parameter selector;
  selector.name = parameter.selector;
  selector.type = ParameterType::choice;
  for (const ParameterEntry& entry : parameter.entries) selector.choices.push_back(entry.name);
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

std::optional<Parameters::Item> ParameterResolver::scalar(const Parameter& parameter, const Value& value,
                                                          const std::string& name) {
  const auto* scalar = std::get_if<Value::Scalar>(&value.data);
  Item out;
  if (!scalar) {
    wrong_type(parameter, value, name);
    return {};
  }
  const std::string& text = scalar->text;
  switch (parameter.type) {
    case ParameterType::boolean: {
      const bool yes = text == "true" || text == "True" || text == "TRUE";
      if (scalar->quoted || !(yes || text == "false" || text == "False" || text == "FALSE")) {
        wrong_type(parameter, value, name, scalar->quoted ? " in quotes" : "");
        return {};
      }
      out.scalar = yes;
      return out;
    }
    case ParameterType::integer: {
      const auto number = whole(parameter, value, name);
      if (!number) return {};
      out.scalar = *number;
      return out;
    }
    case ParameterType::real: {
      const auto real = number(parameter, value, name);
      if (!real) return {};
      out.scalar = *real;
      return out;
    }
    case ParameterType::number_or_word: {
      const auto& words = parameter.choices;
      if (std::find(words.begin(), words.end(), text) != words.end()) break;
      const auto real = number(parameter, value, name);
      if (!real) return {};
      out.scalar = *real;
      return out;
    }
    case ParameterType::choice: {
      const auto& choices = parameter.choices;
      if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
        const std::string near = nearest_name(text, choices);
        wrong_type(parameter, value, name, near.empty() ? "" : fmt::format("; did you mean '{}'?", near).c_str());
        return {};
      }
      break;
    }
    default:
      if (text.empty() || text.find('\0') != std::string::npos) {
        wrong_type(parameter, value, name, text.empty() ? ", which is empty" : ", which contains a NUL character");
        return {};
      }
  }
  out.scalar = text;
  return out;
}

std::optional<std::int64_t> ParameterResolver::whole(const Parameter& parameter, const Value& value,
                                                     const std::string& name) {
  const auto* scalar = std::get_if<Value::Scalar>(&value.data);
  const auto number = scalar && !scalar->quoted ? parse_integer(scalar->text) : std::nullopt;
  if (!number) {
    Parameter wanted = parameter;
    wanted.type = ParameterType::integer;
    if (parameter.type != ParameterType::integer) wanted.default_text.reset();
    wrong_type(wanted, value, name, scalar && scalar->quoted ? " in quotes" : "");
    return {};
  }
  if (!in_range(parameter, double(*number), scalar->text, value, name)) return {};
  return number;
}

std::optional<double> ParameterResolver::number(const Parameter& parameter, const Value& value,
                                                const std::string& name) {
  const auto* scalar = std::get_if<Value::Scalar>(&value.data);
  const auto number = scalar && !scalar->quoted ? parse_real(scalar->text) : std::nullopt;
  if (!number) {
    wrong_type(parameter, value, name, scalar && scalar->quoted ? " in quotes" : "");
    return {};
  }
  if (!in_range(parameter, *number, scalar->text, value, name)) return {};
  return number;
}

bool ParameterResolver::in_range(const Parameter& parameter, double number, const std::string& text, const Value& value,
                                 const std::string& name) {
  const bool low = parameter.minimum_open ? number > parameter.minimum : number >= parameter.minimum;
  const bool high = parameter.maximum_open ? number < parameter.maximum : number <= parameter.maximum;
  const bool whole_type = parameter.type == ParameterType::integer || parameter.type == ParameterType::integer4;
  const bool odd = parameter.even && whole_type && std::fmod(number, 2) != 0;
  if (low && high && !odd) return true;
  add(value.where, fmt::format("'{}' must be {}, got {}", name, range_text(parameter), text));
  return false;
}

std::optional<Parameters::Item> ParameterResolver::four(const Parameter& parameter, const Value& value,
                                                        const std::string& name) {
  const auto* list = std::get_if<Value::List>(&value.data);
  if (!list || list->size() != 4) {
    wrong_type(parameter, value, name, list ? entries_text(list->size()).c_str() : "");
    return {};
  }
  std::array<int, 4> numbers{};
  std::array<double, 4> phases{};
  bool good = true;
  for (std::size_t k = 0; k < 4; ++k) {
    const std::string entry = fmt::format("{}[{}]", name, k);
    if (parameter.type == ParameterType::boundary) {
      const auto phase = boundary_entry((*list)[k], entry);
      good = good && phase;
      phases[k] = phase.value_or(0);
      continue;
    }
    auto number = whole(parameter, (*list)[k], entry);
    if (number && *number != int(*number)) {
      add((*list)[k].where, fmt::format("'{}' must fit into 32 bits, got {}", entry, *number));
      number.reset();
    }
    good = good && number;
    numbers[k] = int(number.value_or(0));
  }
  if (!good) return {};
  Item out;
  if (parameter.type == ParameterType::boundary) {
    out.scalar = phases;
  } else {
    out.scalar = numbers;
  }
  return out;
}

std::optional<double> ParameterResolver::boundary_entry(const Value& value, const std::string& name) {
  if (const auto* scalar = std::get_if<Value::Scalar>(&value.data)) {
    if (scalar->text == "periodic") return 0;
    if (scalar->text == "antiperiodic") return 1;
  }
  const auto* map = std::get_if<Value::Map>(&value.data);
  if (!map || map->size() != 1 || map->front().key != "phase") {
    add(value.where, fmt::format("'{}' must be periodic, antiperiodic or {{phase: theta/pi}} such as {{phase: 0.5}}, "
                                 "got {}",
                                 name, brief(value)));
    return {};
  }
  static const Parameter phase{
      .type = ParameterType::real, .default_text = std::string("0.5"), .minimum = -2, .maximum = 2};
  return number(phase, map->front().value, name + ".phase");
}

std::optional<Parameters::Item> ParameterResolver::list(const Parameter& parameter, const Value& value,
                                                        const std::string& name, bool given) {
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
    if (twin != out.list.end()) {
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
