#include "modules/md/system/amber_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace quadrille::md {
namespace {

constexpr std::size_t pointers_count = 31;

/// Fields of a line and characters of a field: far above what a line has room for.
constexpr std::size_t most = 10000;

void skip_spaces(std::string_view& text) { text.remove_prefix(std::min(text.find_first_not_of(' '), text.size())); }

/// Takes the digits at the beginning of a text away: their number, from 1 to `most`.
std::optional<std::size_t> take_count(std::string_view& text) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 1 || count > most) return {};
  text.remove_prefix(std::size_t(end - text.data()));
  return count;
}

struct FieldFormat {
  std::size_t per_line, width;
};

/// Of a line like %FORMAT(10I8), %FORMAT(5E16.8), %FORMAT(I8).
std::optional<FieldFormat> field_format(std::string_view line) {
  constexpr std::string_view begin = "%FORMAT(", kinds = "aAiIeEfF", digits = "0123456789";
  if (!line.starts_with(begin)) return {};
  line.remove_prefix(begin.size());
  skip_spaces(line);
  std::optional<std::size_t> per_line = 1, width;
  if (!line.empty() && digits.find(line[0]) != digits.npos) per_line = take_count(line);
  if (!per_line || line.empty() || kinds.find(line[0]) == kinds.npos) return {};
  line.remove_prefix(1);
  width = take_count(line);
  if (!width) return {};
  if (line.starts_with('.')) line.remove_prefix(std::min(line.find_first_not_of(digits, 1), line.size()));
  skip_spaces(line);
  if (!line.starts_with(')')) return {};
  return FieldFormat{*per_line, *width};
}

}  // namespace

AmberTopology::AmberTopology(const std::string& path) : lines_(path) {
  std::string open;
  for (std::size_t n = 0; n < lines_.count(); ++n) {
    const std::string& line = lines_[n];
    if (line.rfind("%FLAG", 0) == 0) {
      open = lines_.trimmed(n, 5, 80);
      if (!sections_.try_emplace(open, Section{n, n + 1, n + 1, 0, 0}).second) {
        lines_.fail("there is a second section " + open, n);
      }
    } else if (line.rfind("%FORMAT", 0) == 0 && !open.empty()) {
      const std::optional<FieldFormat> format = field_format(line);
      if (!format) {
        lines_.fail(fmt::format("%FORMAT must be like (10I8) or (5E16.8), with at most {0} fields of at most {0} "
                                "characters",
                                most),
                    n);
      }
      Section& section = sections_[open];
      section.per_line = format->per_line;
      section.width = format->width;
      section.first = section.end = n + 1;
    } else if (line.rfind("%", 0) != 0 && !open.empty()) {
      sections_[open].end = n + 1;
    }
  }
  if (sections_.empty()) lines_.fail("this is not an AMBER topology file: it has no %FLAG", 0);
  pointers_ = integers("POINTERS", pointers_count);
  if (std::any_of(pointers_.begin(), pointers_.end(), [](long n) { return n < 0; }))
    fail("a count is below 0", "POINTERS");
}

const AmberTopology::Section& AmberTopology::section(const std::string& flag) const {
  const auto found = sections_.find(flag);
  if (found == sections_.end()) lines_.fail("the file ends without a section %FLAG " + flag, lines_.count());
  if (found->second.width == 0) lines_.fail("section " + flag + " has no %FORMAT", found->second.flag_line);
  return found->second;
}

void AmberTopology::fail(const std::string& message, const std::string& flag, std::size_t number,
                         ErrorCode code) const {
  const Section& at = section(flag);
  lines_.fail(message, at.first + number / at.per_line, number % at.per_line * at.width, code);
}

template <class Value, class Read>
std::vector<Value> AmberTopology::fields(const std::string& flag, std::size_t count, Read read) const {
  const Section& at = section(flag);
  std::vector<Value> out;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t line = at.first + n / at.per_line, column = n % at.per_line * at.width;
    if (line >= at.end || column >= lines_[line].size()) {
      lines_.fail(fmt::format("section {} ends after {} of {} entries", flag, n, count),
                  std::min(line, lines_.count()));
    }
    out.push_back(read(line, column, at.width));
  }
  return out;
}

std::vector<double> AmberTopology::reals(const std::string& flag, std::size_t count) const {
  return fields<double>(flag, count, [&](auto... at) { return lines_.real(at...); });
}
std::vector<long> AmberTopology::integers(const std::string& flag, std::size_t count) const {
  return fields<long>(flag, count, [&](auto... at) { return lines_.integer(at...); });
}
std::vector<std::string> AmberTopology::texts(const std::string& flag, std::size_t count) const {
  return fields<std::string>(flag, count, [&](auto... at) { return lines_.trimmed(at...); });
}

}  // namespace quadrille::md
