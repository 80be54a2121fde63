#include "input/job/help_search.h"

#include "input/bench/bench.h"
#include "input/job/document.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <utility>

namespace quadrille {

namespace {

using Path = std::vector<std::string>;

/// As the tables write names: "Solver-Study" is solver_study.
std::string as_name(std::string text) {
  for (char& c : text) {
    c = c == '-' || c == ' ' ? '_' : char(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

struct Visitor {
  std::function<void(const Path& owner, const ParameterEntry& entry)> entry;
  std::function<void(const Path& owner, const Parameter& parameter)> parameter;
};

/// A task's own operator, solver and source have the tables of these topics, which are visited anyway.
bool is_topic(const Parameter& parameter) {
  return parameter.name == "operator" || parameter.name == "solver" || parameter.name == "source";
}

/// Calls the visitor for everything below a parameter; `owner`: the words of `help` that lead there.
void visit(const Parameter& parameter, const Path& owner, const Visitor& visitor) {
  const auto deeper = [&](const std::vector<Parameter>& parameters, const Path& here) {
    for (const Parameter& one : parameters) {
      visitor.parameter(here, one);
      Path path = here;
      path.push_back(one.name);
      if (!is_topic(one)) visit(one, path, visitor);
    }
  };
  const Parameter& map = parameter.type == ParameterType::list ? parameter.element.at(0) : parameter;
  deeper(map.members, owner);
  for (const ParameterEntry& entry : map.entries) {
    visitor.entry(owner, entry);
    Path path = owner;
    path.push_back(entry.name);
    deeper(entry.table.parameters, path);
  }
}

void visit_all(const std::vector<Parameter>& topics, const Visitor& visitor) {
  for (const Parameter& topic : topics) visit(topic, {topic.name}, visitor);
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What a parameter, or an entry of a list, may be.
std::vector<std::string> values_of(const Parameter& parameter) {
  const Parameter& value = parameter.type == ParameterType::list ? parameter.element.at(0) : parameter;
  return value.type == ParameterType::boundary ? std::vector<std::string>{"periodic", "antiperiodic"} : value.choices;
}

/// A parameter, and the parts of a job that have the same one.
struct Found {
  std::string name, text;
  std::vector<std::string> owners;
};

std::string search(const std::vector<Parameter>& topics, const std::string& word, const Path& within) {
  std::string entries;
  std::vector<Found> parameters;
  const auto inside = [&](const Path& path) {
    return std::all_of(within.begin(), within.end(), [&](const std::string& name) { return is_one_of(name, path); });
  };
  Visitor visitor;
  visitor.entry = [&](const Path& owner, const ParameterEntry& entry) {
    if (entry.name != word || !inside(owner)) return;
    Path path = owner;
    path.push_back(entry.name);
    if (!entries.empty()) entries += '\n';
    entries += help_text(path);
  };
  visitor.parameter = [&](const Path& owner, const Parameter& parameter) {
    if (!inside(owner) || (parameter.name != word && !is_one_of(word, values_of(parameter)))) return;
    const std::string text = parameter_line(parameter);
    const std::string place = fmt::format("{}", fmt::join(owner, " "));
    for (Found& known : parameters) {
      if (known.text != text || known.name != parameter.name) continue;
      if (!is_one_of(place, known.owners)) known.owners.push_back(place);
      return;
    }
    parameters.push_back({parameter.name, text, {place}});
  };
  visit_all(topics, visitor);
  std::string out = entries;
  for (const Found& found : parameters) {
    out += fmt::format("{}in {}:\n{}", out.empty() ? "" : "\n", fmt::join(found.owners, ", "), found.text);
  }
  for (const auto& [name, help] : bench_help()) {
    if (name != word || !within.empty()) continue;
    out += fmt::format("{}quadrille bench {}: {}\n", out.empty() ? "" : "\n", name, help);
  }
  return out;
}

/// Terms that a user of other programs looks for, each with the block that it would belong to. A term that a table has
/// is found before anybody looks here.
struct Term {
  const char* name;
  const char* block;
};

constexpr Term absent_terms[] = {
    {"staggered", "operator"},      {"asqtad", "operator"},           {"hisq", "operator"}, {"domain wall", "operator"},
    {"mobius", "operator"},         {"overlap fermions", "operator"}, {"gmres", "solver"},  {"minres", "solver"},
    {"schwarz", "solver"},          {"displaced", "source"},          {"hmc", "task"},      {"rhmc", "task"},
    {"dynamical fermions", "task"}, {"luscher weisz", "task"},        {"iwasaki", "task"},  {"dbw2", "task"},
};

/// What other programs call something that a table has.
struct OtherName {
  const char *name, *here;
};
constexpr OtherName other_names[] = {{"multishift", "shifted_solves"},
                                     {"multi shift", "shifted_solves"},
                                     {"stochastic", "noise"},
                                     {"baryon", "baryons"},
                                     {"three point", "three_point"},
                                     {"form factor", "three_point"},
                                     {"bar3ptfn", "three_point"},
                                     {"g_A", "three_point"},
                                     {"gA", "three_point"},
                                     {"axial charge", "three_point"},
                                     {"seqsource", "sequential"},
                                     {"momentum source", "wall"},
                                     {"wilson flow", "gradient_flow"},
                                     {"symanzik flow", "gradient_flow"},
                                     {"flow", "gradient_flow"},
                                     {"topological charge", "gradient_flow"},
                                     {"link smearing", "smear"},
                                     {"hypercubic smearing", "smear"},
                                     {"hyp", "smear"},
                                     {"polyakov loop", "polyakov"},
                                     {"wilson loop", "wilson_loops"},
                                     {"static potential", "wilson_loops"},
                                     {"landau gauge", "gauge_fix"},
                                     {"coulomb gauge", "gauge_fix"},
                                     {"gauge fixing", "gauge_fix"}};

}  // namespace

std::string help_search(const std::vector<Parameter>& topics, const std::vector<std::string>& words) {
  const std::string name = as_name(fmt::format("{}", fmt::join(words, " ")));
  for (const OtherName& other : other_names) {
    if (name == as_name(other.name)) return search(topics, other.here, {});
  }
  std::string found = search(topics, name, {});
  if (found.empty() && words.size() > 1) {
    Path within;
    for (auto word = words.begin(); word + 1 != words.end(); ++word) within.push_back(as_name(*word));
    found = search(topics, as_name(words.back()), within);
  }
  return found;
}

std::string not_there_yet(const std::vector<Parameter>& topics, const std::vector<std::string>& words) {
  for (const Term& term : absent_terms) {
    const bool alone = as_name(fmt::format("{}", fmt::join(words, " "))) == as_name(term.name);
    const bool in_block =
        words.size() > 1 && words.front() == term.block &&
        as_name(fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "))) == as_name(term.name);
    if (!alone && !in_block) continue;
    for (const Parameter& topic : topics) {
      if (topic.name != term.block) continue;
      std::vector<std::string> names;
      for (const ParameterEntry& entry : topic.entries) names.push_back(entry.name);
      return fmt::format("'{}' is not implemented in this version; available {}s: {}", term.name, topic.name,
                         fmt::join(names, ", "));
    }
  }
  return {};
}

std::vector<std::string> terms_not_there_yet() {
  std::vector<std::string> names;
  for (const Term& term : absent_terms) names.push_back(term.name);
  return names;
}

std::string nearest_in_tables(const std::vector<Parameter>& topics, const std::string& word) {
  std::vector<std::string> names;
  for (const Parameter& topic : topics) names.push_back(topic.name);
  Visitor visitor;
  visitor.entry = [&](const Path&, const ParameterEntry& entry) { names.push_back(entry.name); };
  visitor.parameter = [&](const Path&, const Parameter& parameter) {
    names.push_back(parameter.name);
    for (const std::string& value : values_of(parameter)) names.push_back(value);
  };
  visit_all(topics, visitor);
  for (const auto& [name, help] : bench_help()) names.push_back(name);
  return nearest_name(word, names);
}

}  // namespace quadrille
