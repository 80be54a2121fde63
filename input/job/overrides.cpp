#include "input/job/overrides.h"

#include "core/parameters/parameter_values.h"
#include "input/job/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace quadrille {

namespace {

using Step = std::variant<std::string, std::size_t>;  ///< a key of a map, or an index of a list

[[noreturn]] void fail(const std::string& path, const std::string& message) {
  throw WrongCall(ErrorCode::invalid_input, message, Location{"--set " + path, 0, 0, {}, -1});
}

std::vector<Step> parse_path(const std::string& path) {
  const auto wrong = [&] { fail(path, "not the path of a key; write it as run[0].source.site"); };
  std::vector<Step> steps;
  std::size_t at = 0;
  while (at < path.size()) {
    if (path[at] == '[') {
      const std::size_t end = path.find(']', at);
      const auto index = end == std::string::npos ? std::nullopt : parse_integer(path.substr(at + 1, end - at - 1));
      if (!index || *index < 0 || path[at + 1] == '+' || steps.empty()) wrong();
      steps.emplace_back(std::size_t(*index));
      at = end + 1;
      continue;
    }
    if (!steps.empty() && path[at++] != '.') wrong();
    const std::size_t end = std::min(path.find_first_of(".[]", at), path.size());
    if (end == at) wrong();
    steps.emplace_back(path.substr(at, end - at));
    at = end;
  }
  if (steps.empty()) wrong();
  return steps;
}

Value* enter(Value& value, std::size_t index, const std::string& path, const std::string& so_far) {
  auto* list = std::get_if<Value::List>(&value.data);
  if (!list) fail(path, fmt::format("'{}' is not a list", so_far));
  if (index >= list->size()) {
    fail(path, list->empty()
                   ? fmt::format("'{}' is empty", so_far)
                   : fmt::format("'{}' has {} entries; its last index is {}", so_far, list->size(), list->size() - 1));
  }
  return &(*list)[index];
}

/// The value of `key`, made when it is missing.
Value* enter(Value& value, const std::string& key, const std::string& path, const std::string& so_far) {
  const Location where{"--set " + path, 0, 0, {}, -1};
  if (std::holds_alternative<std::monostate>(value.data)) value = Value{Value::Map{}, where};
  auto* map = std::get_if<Value::Map>(&value.data);
  if (!map) {
    const bool list = std::holds_alternative<Value::List>(value.data);
    fail(path, list ? fmt::format("'{}' is a list; choose an entry as {}[0]", so_far, so_far)
                    : fmt::format("'{}' is a single value and has no key '{}'", so_far, key));
  }
  for (auto& entry : *map) {
    if (entry.key == key) return &entry.value;
  }
  map->push_back({key, where, Value{{}, where}});
  return &map->back().value;
}

void erase(Value& parent, const Step& last) {
  if (auto* map = std::get_if<Value::Map>(&parent.data)) {
    const auto& key = std::get<std::string>(last);
    map->erase(std::remove_if(map->begin(), map->end(), [&](const auto& entry) { return entry.key == key; }),
               map->end());
  } else {
    auto& list = std::get<Value::List>(parent.data);
    list.erase(list.begin() + std::ptrdiff_t(std::get<std::size_t>(last)));
  }
}

}  // namespace

void apply_override(Value& job, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string path = assignment.substr(0, equals);
  if (equals == std::string::npos || path.empty()) fail(assignment, "write KEY=VALUE, as run[0].source.site=[1,2,3,5]");
  const std::string text = assignment.substr(equals + 1);
  const Location where{"--set " + path, 0, 0, {}, -1};
  if (text.find_first_not_of(" \t") == std::string::npos) fail(path, "no value after '='");
  Value given;
  try {
    given = read_yaml_text(text, where.file, false);
  } catch (const Error& error) {
    fail(path, error.message());
  }
  Value* parent = nullptr;
  Value* value = &job;
  std::string so_far;
  const auto steps = parse_path(path);
  for (const Step& step : steps) {
    parent = value;
    if (const auto* index = std::get_if<std::size_t>(&step)) {
      value = enter(*parent, *index, path, so_far);
      so_far += fmt::format("[{}]", *index);
    } else {
      const auto& key = std::get<std::string>(step);
      value = enter(*parent, key, path, so_far.empty() ? "the job" : so_far);
      so_far += (so_far.empty() ? "" : ".") + key;
    }
  }
  if (std::holds_alternative<std::monostate>(given.data)) {
    erase(*parent, steps.back());
  } else {
    *value = std::move(given);
  }
}

}  // namespace quadrille
