// For modules in C++: entries of a table of quadrille_parameter, in a line or two each.
//
//   using namespace quadrille::parameter;
//   constexpr quadrille_parameter parameters[] = {
//       required(file_in("file", "an HDF5 file")), integer("seed", "of the matrices", "1", at_least(0)),
//       csv("rows.csv")};
#pragma once

#include "modules/shared/plugin/module.h"

#include <cstddef>
#include <cstdint>

namespace quadrille::parameter {

/// The range of valid numbers.
struct Range {
  std::uint32_t flags = 0;
  double minimum = 0, maximum = 0;
};
constexpr Range any{};
constexpr Range at_least(double least) { return {QUADRILLE_HAS_MINIMUM, least, 0}; }
constexpr Range above(double bound) { return {QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN, bound, 0}; }
constexpr Range within(double least, double most) {
  return {QUADRILLE_HAS_MINIMUM | QUADRILLE_HAS_MAXIMUM, least, most};
}
constexpr Range above_and_up_to(double bound, double most) {
  return {QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN | QUADRILLE_HAS_MAXIMUM, bound, most};
}

/// `value`: the default, as it would stand in a job; null: none.
constexpr quadrille_parameter integer(const char* name, const char* help, const char* value, Range range = any,
                                      const char* unit = nullptr) {
  return {.name = name,
          .type = QUADRILLE_INTEGER,
          .help = help,
          .unit = unit,
          .default_text = value,
          .flags = range.flags,
          .minimum = range.minimum,
          .maximum = range.maximum};
}
constexpr quadrille_parameter real(const char* name, const char* help, const char* value, Range range = any,
                                   const char* unit = nullptr) {
  quadrille_parameter out = integer(name, help, value, range, unit);
  out.type = QUADRILLE_REAL;
  return out;
}
constexpr quadrille_parameter boolean(const char* name, const char* help, const char* value) {
  return {.name = name, .type = QUADRILLE_BOOLEAN, .help = help, .default_text = value};
}
constexpr quadrille_parameter text(const char* name, const char* help, const char* value) {
  return {.name = name, .type = QUADRILLE_TEXT, .help = help, .default_text = value};
}
/// `choices` ends with null.
constexpr quadrille_parameter choice(const char* name, const char* help, const char* value,
                                     const char* const* choices) {
  return {.name = name, .type = QUADRILLE_CHOICE, .help = help, .default_text = value, .choices = choices};
}
/// A number in the range, or one of `words`; the list ends with null.
constexpr quadrille_parameter number_or_word(const char* name, const char* help, const char* value,
                                             const char* const* words, Range range = any) {
  quadrille_parameter out = real(name, help, value, range);
  out.type = QUADRILLE_NUMBER_OR_WORD;
  out.choices = words;
  return out;
}
constexpr quadrille_parameter file_in(const char* name, const char* help) {
  return {.name = name, .type = QUADRILLE_FILE_IN, .help = help};
}
constexpr quadrille_parameter file_out(const char* name, const char* help, const char* value = nullptr) {
  return {.name = name, .type = QUADRILLE_FILE_OUT, .help = help, .default_text = value};
}
/// The name of an earlier task of the job; the only entry of `kinds`, which ends with null, says of which kind.
constexpr quadrille_parameter earlier_task(const char* name, const char* help, const char* const* kinds) {
  return {.name = name, .type = QUADRILLE_EARLIER_TASK, .help = help, .choices = kinds};
}
/// `member` describes the entries: its type, name, range and choices apply. It must outlive the list.
constexpr quadrille_parameter list(const char* name, const char* help, const char* value,
                                   const quadrille_parameter& member, const char* unit = nullptr) {
  return {.name = name,
          .type = QUADRILLE_LIST,
          .help = help,
          .unit = unit,
          .default_text = value,
          .members = &member,
          .member_count = 1};
}
/// `shorthand`: the member that a scalar in place of the map stands for, or null.
template <std::size_t count>
constexpr quadrille_parameter group(const char* name, const char* help, const quadrille_parameter (&members)[count],
                                    const char* shorthand = nullptr) {
  return {.name = name,
          .type = QUADRILLE_GROUP,
          .help = help,
          .members = members,
          .member_count = count,
          .shorthand = shorthand};
}

/// The same parameter, but required.
constexpr quadrille_parameter required(quadrille_parameter parameter) {
  parameter.flags |= QUADRILLE_REQUIRED;
  return parameter;
}

/// The same parameter of a task, which may be larger in a later run: QUADRILLE_EXTENDS.
constexpr quadrille_parameter extends(quadrille_parameter parameter) {
  parameter.flags |= QUADRILLE_EXTENDS;
  return parameter;
}

constexpr quadrille_parameter memory(const char* help, const char* value, double least) {
  return integer("memory", help, value, within(least, 1 << 30), "MiB");
}
constexpr quadrille_parameter csv(const char* value) { return file_out("csv", "the rows as a CSV file", value); }

}  // namespace quadrille::parameter
