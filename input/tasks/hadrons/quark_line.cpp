#include "input/tasks/hadrons/quark_line.h"

#include "input/job/document.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

/// Those that gamma5-hermiticity reverses.
constexpr const char* reversed_keys[] = {"mu", "chemical_potential"};

double mass_of(const Parameters& op) { return op.has("mass") ? op.real("mass") : 1 / (2 * op.real("kappa")) - 4; }

bool same_mass(const Parameters& a, const Parameters& b) {
  return std::abs(mass_of(a) - mass_of(b)) <= 1e-12 * (1 + std::abs(mass_of(a)));
}

/// The operator but for its mass.
Json form_of(const Parameters& op, bool reversed) {
  Json out = to_json(op);
  out.erase("mass");
  out.erase("kappa");
  for (const char* key : reversed_keys) {
    const double value = out.value(key, 0.0);
    out[key] = reversed && value != 0 ? -value : value;
  }
  return out;
}

/// The first key in which an operator is not the wanted one: "'mu' must be -0.1, got 0.1".
std::string first_wrong_key(const Json& wanted, const Json& found) {
  const auto text = [](const Json& op, const std::string& key) {
    return op.contains(key) ? op.at(key).dump() : "none";
  };
  for (const Json* const op : {&wanted, &found}) {
    for (const auto& [key, value] : op->items()) {
      if (!wanted.contains(key) || !found.contains(key) || wanted.at(key) != found.at(key))
        return fmt::format("its '{}' must be {}, got {}", key, text(wanted, key), text(found, key));
    }
  }
  return {};
}

/// The task with the quark that the hadron at the sink lacks; empty for a meson, whose source names the other one.
std::string removed_quark(const Parameters& source) {
  const Parameters& hadron = source.group("hadron");
  if (hadron.text("type") == "meson") return {};
  return hadron.text("quark") == "d" && hadron.has("other") ? hadron.text("other") : source.text("from");
}

}  // namespace

std::string problem_of_line(const Job& job, const std::string& quark, const std::string& back) {
  const TaskSpec &before = find_task(job, quark), &after = find_task(job, back);
  if (before.links_from != after.links_from) {
    const auto links = [](const TaskSpec& task) {
      return task.links_from.empty() ? "those of the gauge block" : "those of '" + task.links_from + "'";
    };
    return fmt::format("'{}' and '{}' must be on the same links, got {} and {}", quark, back, links(before),
                       links(after));
  }
  const std::string wrong = first_wrong_key(form_of(*before.op, true), form_of(*after.op, false));
  if (wrong.empty()) return {};
  return fmt::format("the operator of '{}' must be that of '{}' with mu and chemical_potential reversed: {}", back,
                     quark, wrong);
}

std::vector<std::string> unusual_in_line(const Job& job, const std::string& quark, const std::string& back) {
  std::vector<std::string> out;
  const TaskSpec &before = find_task(job, quark), &after = find_task(job, back);
  if (!same_mass(*before.op, *after.op)) {
    out.push_back(fmt::format("the current changes the flavour: the mass of '{}' is {}, that of '{}' {}", quark,
                              mass_of(*before.op), back, mass_of(*after.op)));
  }
  const std::string lacks = removed_quark(after.parameters->group("source"));
  if (lacks.empty() || lacks == quark) return out;
  const Parameters& removed = *find_task(job, lacks).op;
  if (!same_mass(*before.op, removed) || form_of(*before.op, false) != form_of(removed, false)) {
    out.push_back(
        fmt::format("the hadron at the sink lacks a quark with the operator of '{}', and the current is on '{}', which "
                    "has another one",
                    lacks, quark));
  }
  return out;
}

}  // namespace quadrille
