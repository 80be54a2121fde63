#include "core/parameters/parameter_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

namespace quadrille {

namespace {

/// Recursive descent over the flow syntax of defaults.
class FlowParser {
 public:
  FlowParser(const std::string& text, const Location& where) : text_(text), where_(where) {}

  Value whole() {
    Value value = one();
    skip_space();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  Value one() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') return list();
    if (at_ < text_.size() && text_[at_] == '{') return map();
    return Value{Value::Scalar{word(",]}"), false}, where_};
  }

  Value list() {
    Value::List items;
    ++at_;
    if (!take(']')) {
      do items.push_back(one());
      while (take(','));
      if (!take(']')) fail();
    }
    return Value{std::move(items), where_};
  }

  Value map() {
    Value::Map entries;
    ++at_;
    if (!take('}')) {
      do {
        std::string key = word(":,]}");
        if (!take(':')) fail();
        entries.push_back({std::move(key), where_, one()});
      } while (take(','));
      if (!take('}')) fail();
    }
    return Value{std::move(entries), where_};
  }

  std::string word(const char* stops) {
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(stops, at_), text_.size());
    std::string out = text_.substr(at_, end - at_);
    while (!out.empty() && out.back() == ' ') out.pop_back();
    if (out.empty()) fail();
    at_ = end;
    return out;
  }

  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  [[noreturn]] void fail() const {
    throw Error(ErrorCode::internal, fmt::format("the default '{}' of a parameter table is not flow syntax", text_));
  }

  const std::string& text_;
  Location where_;
  std::size_t at_ = 0;
};

/// The same keys with the same values, whether given or defaults, in whatever order.
bool same(const Parameters& a, const Parameters& b) {
  const auto& others = b.items();
  return a.items().size() == others.size() && std::all_of(a.items().begin(), a.items().end(), [&](const auto& mine) {
           return std::any_of(others.begin(), others.end(), [&](const auto& other) {
             return other.first == mine.first && same(other.second, mine.second);
           });
         });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

char lower(char c) { return char(std::tolower(static_cast<unsigned char>(c))); }

/// Edit distance with neighbour swaps (optimal string alignment), ignoring case.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

std::string number_example(const Parameter& parameter) {
  if (parameter.default_text) return *parameter.default_text;
  const bool integer = parameter.type == ParameterType::integer;
  if (std::isfinite(parameter.minimum)) return real_text(parameter.minimum + (parameter.minimum_open ? 1 : 0));
  return integer ? "10" : "0.1";
}

std::string as_in_a_job(const Value& value) {
  std::vector<std::string> items;
  if (const auto* scalar = std::get_if<Value::Scalar>(&value.data)) return scalar->text;
  if (const auto* list = std::get_if<Value::List>(&value.data)) {
    for (const Value& item : *list) items.push_back(as_in_a_job(item));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }
  if (const auto* map = std::get_if<Value::Map>(&value.data)) {
    for (const auto& entry : *map) items.push_back(fmt::format("{}: {}", entry.key, as_in_a_job(entry.value)));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
  return "no value";
}

}  // namespace

bool same(const Parameters::Item& a, const Parameters::Item& b) {
  if (a.group || b.group) return a.group && b.group && same(*a.group, *b.group);
  return a.scalar == b.scalar && std::equal(a.list.begin(), a.list.end(), b.list.begin(), b.list.end(),
                                            [](const auto& x, const auto& y) { return same(x, y); });
}

std::optional<std::int64_t> parse_integer(const std::string& text) {
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+');
  if (text.size() == sign || !std::all_of(text.begin() + std::ptrdiff_t(sign), text.end(), is_digit)) return {};
  const char* first = text.data() + (text[0] == '+');
  std::int64_t value = 0;
  if (std::from_chars(first, text.data() + text.size(), value).ec != std::errc()) return {};
  return value;
}

std::optional<double> parse_real(const std::string& text) {
  const char* first = text.data() + (!text.empty() && text[0] == '+');
  const char* last = text.data() + text.size();
  const char* digits = first + (first != last && *first == '-' && first == text.data());
  // from_chars also reads "inf" and "nan", which are no numbers here.
  if (digits == last || !(is_digit(*digits) || (*digits == '.' && digits + 1 != last && is_digit(digits[1]))))
    return {};
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || end != last || !std::isfinite(value)) return {};
  return value;
}

Value parse_flow(const std::string& text, const Location& where) { return FlowParser(text, where).whole(); }

std::string brief(const Value& value) {
  constexpr std::size_t longest = 60;
  const auto* scalar = std::get_if<Value::Scalar>(&value.data);
  std::string text = scalar ? fmt::format("'{}'", scalar->text) : as_in_a_job(value);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // one error, one line
  }
  if (text.size() <= longest) return text;
  std::size_t cut = longest - 3;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;  // not inside a UTF-8 character
  return text.substr(0, cut) + "...";
}

std::string real_text(double value) { return fmt::format("{}", value); }

Parameter selector_of(const Parameter& parameter) {
  Parameter selector;
  selector.name = parameter.selector;
  selector.type = ParameterType::choice;
  for (const ParameterEntry& entry : parameter.entries) selector.choices.push_back(entry.name);
  return selector;
}

std::string text_of(const Parameters::Item& item) {
  if (const auto* text = std::get_if<std::string>(&item.scalar)) return *text;
  if (const auto* flag = std::get_if<bool>(&item.scalar)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&item.scalar)) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&item.scalar)) return real_text(*real);
  return item.group ? item.group->given_text() : "";
}

std::string range_text(const Parameter& parameter) {
  std::vector<std::string> parts;
  if (parameter.even) parts.push_back("even");
  if (std::isfinite(parameter.minimum)) {
    parts.push_back((parameter.minimum_open ? "> " : ">= ") + real_text(parameter.minimum));
  }
  if (std::isfinite(parameter.maximum)) {
    parts.push_back((parameter.maximum_open ? "< " : "<= ") + real_text(parameter.maximum));
  }
  return fmt::format("{}", fmt::join(parts, " and "));
}

std::string expected_form(const Parameter& parameter) {
  switch (parameter.type) {
    case ParameterType::boolean: return "true or false";
    case ParameterType::integer: return "a whole number such as " + number_example(parameter);
    case ParameterType::real: return "a real number such as " + number_example(parameter);
    case ParameterType::text: return "text";
    case ParameterType::choice:
      return fmt::format("{}{}", parameter.choices.size() > 1 ? "one of " : "", fmt::join(parameter.choices, ", "));
    case ParameterType::number_or_word: {
      Parameter number = parameter;
      if (!parse_real(number.default_text.value_or(""))) number.default_text.reset();
      return fmt::format("{} or a {} number such as {}", fmt::join(parameter.choices, ", "),
                         number.whole ? "whole" : "real", number_example(number));
    }
    case ParameterType::file_in: return "the path of a file, relative to the job file";
    case ParameterType::file_out: return "the path of a file, relative to the output folder";
    case ParameterType::integer4:
      return "four whole numbers x, y, z, t such as " + parameter.default_text.value_or("[8, 8, 8, 16]");
    case ParameterType::boundary:
      return "four of periodic, antiperiodic or {phase: theta/pi} for x, y, z, t, "
             "such as [periodic, periodic, periodic, antiperiodic]";
    case ParameterType::group: {
      std::vector<std::string> names;
      for (const Parameter& member : parameter.members) names.push_back(member.name + ": ...");
      return fmt::format("a map such as {{{}}}", fmt::join(names, ", "));
    }
    case ParameterType::variant:
      return fmt::format("{}a map such as {{{}: {}, ...}}",
                         parameter.shorthand.empty() ? "" : expected_form(selector_of(parameter)) + ", or ",
                         parameter.selector, parameter.entries.empty() ? "..." : parameter.entries.front().name);
    case ParameterType::list: {
      std::string size = fmt::format("{} to {}", parameter.fewest, parameter.most);
      if (parameter.most == Parameter{}.most) size = fmt::format("{} or more", parameter.fewest);
      if (parameter.fewest == parameter.most) size = fmt::format("{}", parameter.fewest);
      const std::string entry = expected_form(parameter.element.at(0));
      return fmt::format("{}a list [...] of {} entries, each {}", parameter.shorthand.empty() ? "" : entry + ", or ",
                         size, entry);
    }
  }
  return "a value";
}

std::string boundary_text(double phase) {
  if (phase == 0) return "periodic";
  return phase == 1 ? "antiperiodic" : fmt::format("{{phase: {}}}", real_text(phase));
}

std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() > 64) return best;  // nothing we name is that long
  if (parse_real(word)) return best;  // a number is not another number misspelt
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

bool Parameters::has(const std::string& name) const {
  return std::any_of(items_.begin(), items_.end(), [&](const auto& pair) { return pair.first == name; });
}

const Parameters::Item& Parameters::item(const std::string& name, ParameterType type) const {
  for (const auto& [key, item] : items_) {
    if (key != name) continue;
    if (item.type == type) return item;
    throw Error(ErrorCode::internal,
                fmt::format("parameter '{}' is read as a type other than that in its table", name));
  }
  throw Error(ErrorCode::internal, fmt::format("parameter '{}' is read but absent", name));
}

bool Parameters::given(const std::string& name) const {
  return std::any_of(items_.begin(), items_.end(),
                     [&](const auto& pair) { return pair.first == name && pair.second.given; });
}

std::string Parameters::given_text(const std::vector<std::string>& without) const {
  std::string text;
  for (const auto& [name, item] : items_) {
    if (!item.given || std::find(without.begin(), without.end(), name) != without.end()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", name, text_of(item));
  }
  return text;
}

bool Parameters::boolean(const std::string& name) const {
  return std::get<bool>(item(name, ParameterType::boolean).scalar);
}

std::int64_t Parameters::integer(const std::string& name) const {
  return std::get<std::int64_t>(item(name, ParameterType::integer).scalar);
}

double Parameters::real(const std::string& name) const {
  return std::get<double>(item(name, ParameterType::real).scalar);
}

std::optional<double> Parameters::number(const std::string& name) const {
  const auto* const number = std::get_if<double>(&item(name, ParameterType::number_or_word).scalar);
  return number == nullptr ? std::nullopt : std::optional<double>(*number);
}

const std::string& Parameters::text(const std::string& name) const {
  for (const auto& [key, item] : items_) {
    const auto* text = std::get_if<std::string>(&item.scalar);
    if (key == name && text) return *text;
  }
  return std::get<std::string>(item(name, ParameterType::text).scalar);  // throws: absent or another type
}

std::array<int, 4> Parameters::integer4(const std::string& name) const {
  return std::get<std::array<int, 4>>(item(name, ParameterType::integer4).scalar);
}

std::array<double, 4> Parameters::boundary(const std::string& name) const {
  return std::get<std::array<double, 4>>(item(name, ParameterType::boundary).scalar);
}

const Parameters& Parameters::group(const std::string& name) const {
  for (const auto& [key, item] : items_) {
    if (key == name && item.group) return *item.group;
  }
  return *item(name, ParameterType::group).group;
}

const std::vector<Parameters::Item>& Parameters::list(const std::string& name) const {
  return item(name, ParameterType::list).list;
}

std::vector<double> Parameters::real_list(const std::string& name) const {
  std::vector<double> out;
  for (const Item& entry : list(name)) out.push_back(std::get<double>(entry.scalar));
  return out;
}

std::vector<std::int64_t> Parameters::integer_list(const std::string& name) const {
  std::vector<std::int64_t> out;
  for (const Item& entry : list(name)) out.push_back(std::get<std::int64_t>(entry.scalar));
  return out;
}

std::vector<std::string> Parameters::text_list(const std::string& name) const {
  std::vector<std::string> out;
  for (const Item& entry : list(name)) out.push_back(std::get<std::string>(entry.scalar));
  return out;
}

std::vector<std::shared_ptr<const Parameters>> Parameters::group_list(const std::string& name) const {
  std::vector<std::shared_ptr<const Parameters>> out;
  for (const Item& entry : list(name)) out.push_back(entry.group);
  return out;
}

Parameters Parameters::replaced(const std::string& removed, const std::string& name, const Item& item) const {
  Parameters out = *this;
  std::erase_if(out.items_, [&](const auto& pair) { return pair.first == removed || pair.first == name; });
  out.items_.emplace_back(name, item);
  return out;
}

const Location& Parameters::where(const std::string& name) const {
  for (const auto& [key, item] : items_) {
    if (key == name) return item.where;
  }
  throw Error(ErrorCode::internal, fmt::format("parameter '{}' is read but absent", name));
}

}  // namespace quadrille
