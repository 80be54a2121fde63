// Numbers, words and lists of four of them.
#include "core/parameters/parameter_resolver.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace quadrille {

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
      if (parameter.whole && *real != std::floor(*real)) {
        wrong_type(parameter, value, name, "");
        return {};
      }
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

}  // namespace quadrille
