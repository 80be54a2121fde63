#include "input/ensemble/ensemble_results.h"

#include "input/ensemble/averages.h"
#include "input/ensemble/ensemble_check.h"
#include "input/ensemble/fits.h"
#include "input/ensemble/parts.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;
using State = ConfigurationState::State;

Json solves_by_task(const Json& solves) {
  Json out = Json::object();
  for (const Json& solve : solves) {
    Json& task = out[solve.at("task").get<std::string>()];
    if (task.is_null()) task = {{"solves", 0}, {"iterations", 0.0}, {"residual", 0.0}, {"converged", true}};
    const double before = task["solves"], now = before + 1;
    task["solves"] = int(now);
    task["iterations"] = (task["iterations"].get<double>() * before + solve.value("iterations", 0)) / now;
    const Json residual = solve.contains("residual") ? solve["residual"] : Json(nullptr);
    if (residual.is_number() && task["residual"].is_number()) {
      task["residual"] = std::max(task["residual"].get<double>(), residual.get<double>());
    } else {
      task["residual"] = nullptr;
    }
    task["converged"] = task["converged"].get<bool>() && solve.value("converged", false);
  }
  return out;
}

Json described(const Configuration& configuration, const ConfigurationState& state) {
  Json out = {{"name", configuration.name}, {"file", configuration.file}};
  out["state"] = state.state == State::done ? "done" : state.state == State::failed ? "failed" : "open";
  if (state.state == State::failed) out["error"] = state.error;
  if (state.state != State::done) return out;
  out["results"] = folder_of(configuration) + "/results.json";
  out["plaquette"] = state.results.at("gauge").at("plaquette");
  out["checksum"] = state.results.at("gauge").at("checksum");
  out["solves"] = state.results.at("solves");
  return out;
}

Json warnings_of(const std::vector<Configuration>& configurations, const std::vector<ConfigurationState>& states,
                 Json warnings) {
  for (std::size_t k = 0; k < states.size(); ++k) {
    const std::string& name = configurations[k].name;
    if (states[k].state == State::failed) warnings.push_back(fmt::format("{}: left out: {}", name, states[k].error));
    if (states[k].state != State::done) continue;
    for (const Json& one : states[k].results.at("warnings")) {
      warnings.push_back(fmt::format("{}: {}", name, one.get<std::string>()));
    }
  }
  return warnings;
}

/// Sources that all configurations read from one file.
std::vector<std::string> shared_sources(const Job& job) {
  std::vector<std::string> out;
  for (const TaskSpec& task : job.run) {
    if (!task.parameters->has("source")) continue;
    const Parameters& source = task.parameters->group("source");
    if (!source.has("file") || names_configuration(source.text("file"))) continue;
    out.push_back(
        fmt::format("{}: 'source.file' is one file for all configurations; {{name}} in it would stand for the "
                    "name of each",
                    task.name));
  }
  return out;
}

}  // namespace

Json kept_results(const Json& results) {
  Json kept = Json::object();
  for (const char* key : {"correlators", "gauge", "lattice", "warnings", "timing"}) {
    if (results.contains(key)) kept[key] = results[key];
  }
  for (const auto& [block, value] : results.items()) {
    if (is_averaged_block(block)) kept[block] = value;
  }
  kept["solves"] = solves_by_task(results.value("solves", Json::array()));
  return kept;
}

std::vector<Json> done_results(const std::vector<ConfigurationState>& states) {
  std::vector<Json> out;
  for (const ConfigurationState& one : states) {
    if (one.state == State::done) out.push_back(one.results);
  }
  return out;
}

void add_configurations(const Job& job, const std::vector<Configuration>& configurations,
                        const std::vector<ConfigurationState>& states, Json& out) {
  const Parameters& asked = *job.ensemble;
  const std::vector<Json> done = done_results(states);
  std::vector<std::string> of_fits;
  if (!done.empty()) {
    const AverageRules rules{.bin = std::size_t(asked.integer("bin")),
                             .bootstrap = int(asked.integer("bootstrap")),
                             .seed = std::uint64_t(asked.integer("seed"))};
    if (asked.has("fits")) out["fits"] = fits(job, done, rules, of_fits);
    out["averages"] = averages(done, rules);
    out["lattice"] = done.front().at("lattice");
  }
  out["configurations"] = Json::array();
  for (std::size_t k = 0; k < states.size(); ++k) {
    out["configurations"].push_back(described(configurations[k], states[k]));
  }
  if (!done.empty() && !correlator_rows(done).empty()) out["correlator_file"] = correlator_file_name;
  out["warnings"] = warnings_of(configurations, states, out.value("warnings", Json::array()));
  for (const std::string& warning : of_fits) out["warnings"].push_back(warning);
  if (configurations.size() < 2) return;
  for (const std::string& warning : shared_sources(job)) out["warnings"].push_back(warning);
}

Json with_configurations(Json timing, const std::vector<ConfigurationState>& states) {
  for (const ConfigurationState& one : states) {
    if (one.state != State::done) continue;
    for (const auto& [phase, seconds] : one.results.at("timing").items()) {
      if (phase == "total" || phase == "runs") continue;
      timing[phase] = timing.value(phase, 0.0) + seconds.get<double>();
    }
  }
  return timing;
}

}  // namespace quadrille
