#include "modules/md/amber_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace quadrille::md {
namespace {

constexpr std::size_t pointers_count = 31;

}  // namespace

AmberTopology::AmberTopology(const std::string& path) : lines_(path) {
  const std::regex format(R"(%FORMAT\(\s*(\d*)[aAiIeEfF](\d+)(\.\d+)?\s*\).*)");
  std::string open;
  for (std::size_t n = 0; n < lines_.count(); ++n) {
    const std::string& line = lines_[n];
    if (line.rfind("%FLAG", 0) == 0) {
      open = lines_.trimmed(n, 5, 80);
      if (!sections_.try_emplace(open, Section{n, n + 1, n + 1, 0, 0}).second) {
        lines_.fail("there is a second section " + open, n);
      }
    } else if (line.rfind("%FORMAT", 0) == 0 && !open.empty()) {
      std::smatch found;
      if (!std::regex_match(line, found, format)) lines_.fail("a format like (10I8) or (5E16.8) must follow", n);
      Section& section = sections_[open];
      section.per_line = found[1].length() > 0 ? std::stoul(found[1]) : 1;
      section.width = std::stoul(found[2]);
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
