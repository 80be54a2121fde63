#include "input/job/reference.h"

#include "core/parameters/parameters.h"
#include "input/job/blocks.h"
#include "input/job/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace quadrille {

namespace {

using Type = ParameterType;

/// Nothing in it is markup, but for `words` in such quotes.
std::string cell(std::string_view text) {
  std::string out;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    const bool tag = c == '<' && k + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[k + 1]));
    if (c == '|' || c == '*' || tag) out += '\\';
    out += c;
  }
  return out;
}

std::string default_of(const Parameter& parameter) {
  if (parameter.required) return "required";
  return parameter.default_text && *parameter.default_text != "{}" ? fmt::format("`{}`", *parameter.default_text) : "";
}

/// Blocks that have sections of their own.
bool has_a_section(const Parameter& parameter) {
  return parameter.type == Type::variant &&
         (parameter.name == "operator" || parameter.name == "solver" || parameter.name == "source");
}

void add_row(std::string& out, const std::string& name, const Parameter& parameter) {
  const std::string values =
      has_a_section(parameter) ? fmt::format("see [{0}](#{0})", parameter.name) : cell(value_text(parameter));
  out += fmt::format("| `{}` | {} | {} | {} |\n", name, values, cell(default_of(parameter)),
                     cell(parameter.help + conditions_text(parameter)));
}

void add_rows(std::string& out, const std::string& path, const std::vector<Parameter>& parameters);

/// The blocks of a job, most of which have sections of their own.
void add_blocks(std::string& out) {
  out += "\n| key of a job | contents |\n|---|---|\n";
  for (const Parameter& block : job_table().parameters) {
    const std::string name = block.type == Type::list ? block.name : fmt::format("[{0}](#{0})", block.name);
    out += fmt::format("| {} | {} |\n", name, cell(block.help));
  }
  out += fmt::format("| [run](#run) | {} |\n", cell(task_block().help));
}

/// What is inside of a map, or of the maps of a list.
void add_inside(std::string& out, const std::string& name, const Parameter& parameter) {
  const bool list = parameter.type == Type::list;
  const Parameter& map = list ? parameter.element.at(0) : parameter;
  const std::string path = name + (list ? "[]." : ".");
  add_rows(out, path, map.members);
  if (has_a_section(map)) return;
  for (const ParameterEntry& entry : map.entries) {
    out += fmt::format("| `{}{}: {}` | | | {} |\n", path, map.selector, entry.name, cell(entry.table.help));
    add_rows(out, path, entry.table.parameters);
  }
}

void add_rows(std::string& out, const std::string& path, const std::vector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    add_row(out, path + parameter.name, parameter);
    add_inside(out, path + parameter.name, parameter);
  }
}

/// "Exactly one of ..." for a table and the maps in it.
void add_choices(std::string& out, const std::string& path, const std::vector<std::vector<std::string>>& sets,
                 const std::vector<Parameter>& parameters) {
  for (const auto& names : sets) {
    std::vector<std::string> quoted;
    for (const std::string& name : names) quoted.push_back(fmt::format("`{}{}`", path, name));
    out += fmt::format("\nExactly one of {}.\n", fmt::join(quoted, ", "));
  }
  for (const Parameter& parameter : parameters) {
    const bool list = parameter.type == Type::list;
    const Parameter& map = list ? parameter.element.at(0) : parameter;
    add_choices(out, path + parameter.name + (list ? "[]." : "."), map.exactly_one_of, map.members);
  }
}

void add_table(std::string& out, const std::vector<Parameter>& parameters,
               const std::vector<std::vector<std::string>>& exactly_one_of) {
  if (parameters.empty()) return;
  out += "\n| parameter | values | default | meaning |\n|---|---|---|---|\n";
  add_rows(out, "", parameters);
  add_choices(out, "", exactly_one_of, parameters);
}

/// Lines of at most 120 characters.
std::string wrapped(const std::string& text) {
  std::string out, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    if (!line.empty() && line.size() + 1 + word.size() > 120) {
      out += line + '\n';
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    at = space + 1;
  }
  return out + line + '\n';
}

void add_topic(std::string& out, const Parameter& topic) {
  const std::string name = topic.name == "task" ? "run" : topic.name;
  out += fmt::format("\n## {}\n\n{}", name, wrapped(cell(topic.help)));
  add_table(out, topic.members, topic.exactly_one_of);
  for (const ParameterEntry& entry : topic.entries) {
    out += fmt::format("\n### {}: {}\n\n{}", topic.selector, entry.name, wrapped(cell(entry.table.help)));
    add_table(out, entry.table.parameters, entry.table.exactly_one_of);
  }
}

}  // namespace

std::string reference_page() {
  std::string out = "# All words of a job\n\n";
  out += wrapped(
      "`quadrille help --reference` wrote this page from the tables by which the program reads jobs. "
      "`a.b` is the key `b` in the map `a`, `a[].b` that in each map of the list `a`. In an editor, `quadrille schema` "
      "shows the same ([how](USING.md#in-an-editor)).");
  add_blocks(out);
  for (const Parameter& topic : help_topics()) add_topic(out, topic);
  return out;
}

}  // namespace quadrille
