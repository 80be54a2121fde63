#include "input/plugins/module_parameters.h"

#include "input/job/job.h"

#include <algorithm>
#include <charconv>

namespace quadrille {
namespace {

using Item = Parameters::Item;
using Type = ParameterType;

/// One name of a path, and the entry of a list that follows it in brackets.
struct Step {
  std::string name;
  std::optional<std::size_t> entry = {};
};

/// "systems[2].file" as its steps; none for a text that is no path.
std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> steps;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('.', at), path.size());
    Step step{path.substr(at, end - at)};
    at = end + 1;
    const std::size_t bracket = step.name.find('[');
    if (bracket != std::string::npos) {
      std::size_t entry = 0;
      const char* const last = step.name.data() + step.name.size();
      const auto [stop, failed] = std::from_chars(step.name.data() + bracket + 1, last, entry);
      if (failed != std::errc() || stop + 1 != last || *stop != ']') return {};
      step.entry = entry;
      step.name.resize(bracket);
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

const Parameter* find(const std::vector<Parameter>& parameters, const std::string& name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const Parameter& p) { return p.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

/// Of a group or a variant, whose keys are those of all its entries.
const Parameter* find_member(const Parameter& map, const std::string& name) {
  static const Parameter selector{.type = Type::choice};
  if (map.type == Type::variant && name == map.selector) return &selector;
  for (const ParameterEntry& entry : map.entries) {
    if (const Parameter* found = find(entry.table.parameters, name)) return found;
  }
  return find(map.members, name);
}

const Item* find(const Parameters* values, const std::string& name) {
  if (values == nullptr) return nullptr;
  for (const auto& [key, item] : values->items()) {
    if (key == name) return &item;
  }
  return nullptr;
}

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

}  // namespace

const Item* asked_item(quadrille_run* run, const char* path) {
  const std::vector<Step> steps = steps_of(given(path, "the name of a parameter"));
  const Parameter* at = nullptr;
  const Item* item = nullptr;
  const Parameters* values = run->task.parameters.get();
  for (const Step& step : steps) {
    at = at == nullptr ? find(run->task.entry->table.parameters, step.name) : find_member(*at, step.name);
    item = find(values, step.name);
    if (at != nullptr && step.entry) {
      at = at->type == Type::list ? &at->element[0] : nullptr;
      item = item != nullptr && *step.entry < item->list.size() ? &item->list[*step.entry] : nullptr;
    }
    if (at == nullptr) break;
    values = item == nullptr ? nullptr : item->group.get();
  }
  if (at == nullptr) refuse(fmt::format("the task {} has no parameter '{}'", run->task.entry->name, path));
  return item;
}

const Item& asked_value(quadrille_run* run, const char* path, std::size_t index, std::initializer_list<Type> types) {
  const Item* item = asked_item(run, path);
  if (item == nullptr) refuse(fmt::format("'{}' has no value: ask has() first", path));
  const bool four = item->type == Type::integer4 || item->type == Type::boundary;
  const std::size_t entries = item->type == Type::list ? item->list.size() : four ? 4 : 1;
  if (index >= entries) refuse(fmt::format("'{}' has no entry {}", path, index));
  if (item->type == Type::list) {
    item = &item->list[index];
    if (item->type == Type::integer4 || item->type == Type::boundary) {
      refuse(fmt::format("each entry of '{}' is four numbers: ask for '{}[{}]'", path, path, index));
    }
  }
  if (std::find(types.begin(), types.end(), item->type) == types.end()) {
    refuse(fmt::format("'{}' has another type", path));
  }
  return *item;
}

int has_parameter(quadrille_run* run, const char* path) {
  bool found = false;
  (void)host_call(run, "has", [&] {
    found = asked_item(run, path) != nullptr;
    return QUADRILLE_DONE;
  });
  return found ? 1 : 0;
}

std::size_t count_parameter(quadrille_run* run, const char* path) {
  std::size_t found = 0;
  (void)host_call(run, "count", [&] {
    const Item* item = asked_item(run, path);
    if (item == nullptr) return QUADRILLE_DONE;
    const bool four = item->type == Type::integer4 || item->type == Type::boundary;
    found = item->type == Type::list ? item->list.size() : four ? 4 : 1;
    return QUADRILLE_DONE;
  });
  return found;
}

quadrille_status boolean_parameter(quadrille_run* run, const char* path, std::size_t index, int* value) {
  return host_call(run, {"boolean", {value}}, [&] {
    *value = std::get<bool>(asked_value(run, path, index, {Type::boolean}).scalar) ? 1 : 0;
    return QUADRILLE_DONE;
  });
}

quadrille_status integer_parameter(quadrille_run* run, const char* path, std::size_t index, std::int64_t* value) {
  return host_call(run, {"integer", {value}}, [&] {
    const Item& item = asked_value(run, path, index, {Type::integer, Type::integer4});
    const auto* four = std::get_if<std::array<int, 4>>(&item.scalar);
    *value = four != nullptr ? (*four)[index] : std::get<std::int64_t>(item.scalar);
    return QUADRILLE_DONE;
  });
}

quadrille_status real_parameter(quadrille_run* run, const char* path, std::size_t index, double* value) {
  return host_call(run, {"real", {value}}, [&] {
    const Item& item = asked_value(run, path, index, {Type::real, Type::boundary, Type::number_or_word});
    if (std::holds_alternative<std::string>(item.scalar))
      refuse(fmt::format("'{}' is a word, not a number: ask text() first", path));
    const auto* four = std::get_if<std::array<double, 4>>(&item.scalar);
    *value = four != nullptr ? (*four)[index] : std::get<double>(item.scalar);
    return QUADRILLE_DONE;
  });
}

quadrille_status text_parameter(quadrille_run* run, const char* path, std::size_t index, const char** value) {
  return host_call(run, {"text", {value}}, [&] {
    const Item& item =
        asked_value(run, path, index, {Type::text, Type::choice, Type::file_in, Type::file_out, Type::number_or_word});
    const auto* text = std::get_if<std::string>(&item.scalar);
    *value = text == nullptr ? nullptr : keep_text(run, *text);
    return QUADRILLE_DONE;
  });
}

quadrille_status input_file(quadrille_run* run, const char* path, std::size_t index, const char** file) {
  return host_call(run, {"input_file", {file}}, [&] {
    const Item& item = asked_value(run, path, index, {Type::file_in});
    *file = keep_text(run, (run->task.job_folder / std::get<std::string>(item.scalar)).string());
    return QUADRILLE_DONE;
  });
}

}  // namespace quadrille
