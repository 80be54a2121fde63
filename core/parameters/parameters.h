// Parameters declared as data. Each operator, solver, source and task owns one table; `input` parses, validates,
// documents, writes the schema and echoes the resolved job from these tables only.
#pragma once

#include "core/error.h"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace quadrille {

/// A tree of values as a job file holds them, each with its place. Scalars keep their text: the type is
/// decided by the table that reads them, not by the file.
struct Value {
  struct Scalar {
    std::string text;
    bool quoted = false;  ///< written in quotes, so never a number, a boolean or null
  };
  struct Entry;  ///< one `key: value` of a map
  using List = std::vector<Value>;
  using Map = std::vector<Entry>;  ///< in file order; keys are unique

  std::variant<std::monostate, Scalar, List, Map> data;  ///< monostate: null
  Location where;
};

struct Value::Entry {
  std::string key;
  Location where;  ///< of the key
  Value value;
};

enum class ParameterType {
  boolean,         ///< true | false
  integer,         ///< 64-bit
  real,            ///< finite double
  text,            ///< any string
  choice,          ///< one of `choices`
  number_or_word,  ///< a finite double, or one of `choices`
  file_in,         ///< a path relative to the job file
  file_out,        ///< a path relative to the output folder
  integer4,        ///< [x, y, z, t]
  boundary,        ///< four of: periodic | antiperiodic | {phase: theta/pi}
  group,           ///< a map of `members`
  variant,         ///< a map whose key `selector` names one of `entries`; its other keys are that entry's parameters
  list,            ///< [..] of values that are all as `element` says, none of them twice unless `repeats`
};

struct Parameter;

/// A parameter that has a meaning only in the company of another one, which stands earlier in the same table.
struct Condition {
  std::string parameter;            ///< or several, "file|files": one of them will do
  std::vector<std::string> values;  ///< its values (as text) that make it so; empty: whenever it is given
};

/// The names of its parameters, any of which will do.
std::vector<std::string> condition_names(const Condition& condition);

struct ParameterEntry;

/// One parameter. Unset optionals mean "no bound" and "no default"; a parameter without a default that is not
/// `required` is simply absent when it is not given.
struct Parameter {
  std::string name = {};
  ParameterType type = ParameterType::text;
  std::string help = {};
  std::string unit = {};                         ///< as text, empty when dimensionless
  std::optional<std::string> default_text = {};  ///< as it would stand in a job (YAML flow syntax)
  bool required = false;
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_open = false;  ///< value > minimum rather than >=
  bool maximum_open = false;
  bool even = false;   ///< integers must be even (lattice extents)
  bool whole = false;  ///< the number of number_or_word must be whole
  std::vector<std::string> choices = {};
  std::vector<std::string> excludes = {};  ///< names that may not be given beside this one
  std::vector<Parameter> members = {};     ///< of a group
  /// What a scalar in its place stands for: the member of a group, the selector of a variant, the entry of a list.
  std::string shorthand = {};
  /// All must hold: else giving the parameter is an error, and neither its default nor `required` applies.
  std::vector<Condition> only_if = {};
  std::string selector = "type";             ///< of a variant
  std::vector<ParameterEntry> entries = {};  ///< of a variant
  std::vector<Parameter> element = {};       ///< of a list: one, what every entry is (not a list itself)
  std::size_t fewest = 1, most = 1000;       ///< entries of a list
  bool repeats = false;                      ///< entries of a list may be equal
  std::vector<std::vector<std::string>> exactly_one_of =
      {};  ///< of a group: sets of members of which one must be given
};

/// A table: the parameters of one entry, and the sets of names of which exactly one must be given.
struct ParameterTable {
  std::string name = {};  ///< what the parameters belong to: "operator wilson"
  std::string help = {};
  std::vector<Parameter> parameters = {};
  std::vector<std::vector<std::string>> exactly_one_of = {};
};

/// One entry of a registry as a variant sees it: `type: NAME` chooses the table.
struct ParameterEntry {
  std::string name = {};
  ParameterTable table;
};

/// Resolved parameters: validated against a table, defaults filled in. Every accessor throws ErrorCode::internal when
/// the name is absent or of another type: a mismatch between a table and the code that reads it is a defect.
class Parameters {
 public:
  struct Item;

  bool has(const std::string& name) const;
  /// True when the job itself named it (false for a default).
  bool given(const std::string& name) const;
  /// What the job itself gave, but for the names in `without`: "restart_length 32 preconditioner type mr steps 4".
  std::string given_text(const std::vector<std::string>& without = {}) const;
  bool boolean(const std::string& name) const;
  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  /// That of number_or_word; none where it is a word.
  std::optional<double> number(const std::string& name) const;
  /// text, choice, file_in and file_out (as written in the job), and the word of number_or_word.
  const std::string& text(const std::string& name) const;
  std::array<int, 4> integer4(const std::string& name) const;
  /// theta/pi for x, y, z, t: 0 periodic, 1 antiperiodic.
  std::array<double, 4> boundary(const std::string& name) const;
  /// A group, or a variant: its selector (as a choice), then the parameters of the entry that it names.
  const Parameters& group(const std::string& name) const;
  /// The entries of a list, each with its place, in the order of the job. See real_list and text_list for their values.
  const std::vector<Item>& list(const std::string& name) const;
  std::vector<double> real_list(const std::string& name) const;
  std::vector<std::int64_t> integer_list(const std::string& name) const;
  /// Of text, choice, file_in and file_out.
  std::vector<std::string> text_list(const std::string& name) const;
  std::vector<std::shared_ptr<const Parameters>> group_list(const std::string& name) const;
  /// Place of the value (of the enclosing block for a default).
  const Location& where(const std::string& name) const;
  const Location& where() const { return where_; }
  const std::vector<std::pair<std::string, Item>>& items() const { return items_; }
  /// A copy in which `name` is `item` (of its own type and place), put last, and `removed` is absent.
  Parameters replaced(const std::string& removed, const std::string& name, const Item& item) const;

 private:
  friend class ParameterResolver;
  const Item& item(const std::string& name, ParameterType type) const;
  std::vector<std::pair<std::string, Item>> items_;
  Location where_;
};

struct Parameters::Item {
  ParameterType type = ParameterType::text;
  bool given = false;
  Location where;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, std::array<int, 4>, std::array<double, 4>>
      scalar;
  std::shared_ptr<const Parameters> group;
  std::vector<Item> list;
};

/// Validate `block` (a map, or null for an empty one) against `table`. Appends one Error for each thing that is wrong
/// (unknown key with the nearest name suggested, wrong type, out of range, excluded pair, missing) to `errors` and
/// goes on, so that one pass finds them all. `skip` lists keys of the block that other tables own.
Parameters resolve(const ParameterTable& table, const Value& block, std::vector<Error>& errors,
                   const std::vector<std::string>& skip = {});

/// The same for one value of a variant parameter; null (with one or more errors) when its selector names no entry.
std::shared_ptr<const Parameters> resolve_variant(const Parameter& parameter, const Value& value,
                                                  std::vector<Error>& errors);

/// What a value looks like, with an example: "a real number such as 1.0e-10", "one of cg, bicgstab".
std::string expected_form(const Parameter& parameter);

/// The range of a number: "> 0 and < 1", "even and >= 2"; empty when there is none.
std::string range_text(const Parameter& parameter);

/// A boundary entry as a job writes it: "periodic", "antiperiodic" or "{phase: 0.5}".
std::string boundary_text(double phase);

/// The name in `candidates` nearest to `word` by edit distance, when it is near enough to suggest; else empty.
std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace quadrille
