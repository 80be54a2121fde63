// How tables are applied to what a job holds: inside core/parameters alone.
#pragma once

#include "core/error.h"
#include "core/parameters/parameter_values.h"
#include "core/parameters/parameters.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

/// One pass over a table and a block: fills a Parameters and appends every error it meets.
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
  /// Whether a parameter that is present has one of the values that a condition names.
  static bool has_value_of(const Condition& condition, const std::string& name, const Block& block);
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

/// " (3 entries)"
inline std::string entries_text(std::size_t count) {
  return fmt::format(" ({} {})", count, count == 1 ? "entry" : "entries");
}

}  // namespace quadrille
