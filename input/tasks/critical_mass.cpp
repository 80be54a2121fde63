#include "input/tasks/critical_mass.h"

#include "core/system/log.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/tasks/pion_mass.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

void check_critical_mass(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  const std::vector<std::int64_t> window = task.parameters->integer_list("window");
  if (window[0] < window[1] && window[1] <= dims[3] / 2) return;
  errors.emplace_back(
      ErrorCode::invalid_input,
      fmt::format("'window' must be [first, last] with first < last <= {}, half the time extent, got [{}, {}]",
                  dims[3] / 2, window[0], window[1]),
      task.parameters->where("window"));
}

void check_points(const TaskSpec& task, const Job& job, std::vector<Error>& errors) {
  for (const Parameters::Item& from : task.parameters->list("from")) {
    const std::string& name = std::get<std::string>(from.scalar);
    if (!find_task(job, name).parameters->has("antiquark")) continue;
    errors.emplace_back(
        ErrorCode::invalid_input,
        fmt::format("'from' must name mesons of one propagator, which has one mass; '{}' has an antiquark", name),
        from.where);
  }
}

/// The bare mass of the propagator that the mesons task `name` is made of: an earlier task has solved it.
double bare_mass(const JobRun& job, const std::string& name) {
  const TaskSpec& mesons = find_task(job.job(), name);
  return job.folder().records().at(mesons.uses.at(0)).solves.at(0).at("mass").get<double>();
}

/// The pion of one mesons task as a point of the fit; empty (with a warning) when it has no mass.
std::optional<Estimate> squared_mass(JobRun& job, const TaskSpec& task, const std::string& name, Json& out) {
  const Json& correlators = job.folder().records().at(name).correlators;
  std::vector<double> pion;
  for (const Json& value : correlators.at("pion")) pion.push_back(value.is_null() ? NAN : value.get<double>());
  const int source_time = correlators.at("source_time").get<int>();
  const std::vector<std::int64_t> window = task.parameters->integer_list("window");
  const auto mass = pion_mass(pion, source_time, int(window[0]), int(window[1]));
  out.push_back({{"mesons", name},
                 {"mass", bare_mass(job, name)},
                 {"pion_mass", nullptr},
                 {"pion_mass_spread", nullptr},
                 {"pion_mass_squared", nullptr}});
  Json& point = out.back();
  if (!mass && std::all_of(pion.begin(), pion.end(), [](double value) { return std::isnan(value); })) {
    job.warn(fmt::format("'{}' has no correlator and is left out", name));
    return {};
  }
  if (!mass) {
    job.warn(fmt::format("the pion of '{}' does not fall like a cosh for {} <= t <= {} and is left out", name,
                         window[0], window[1]));
    return {};
  }
  point["pion_mass"] = mass->value;
  point["pion_mass_spread"] = mass->spread;
  point["pion_mass_squared"] = mass->value * mass->value;
  return Estimate{mass->value * mass->value, 2 * mass->value * mass->spread};
}

void run_critical_mass(JobRun& job, const TaskSpec& task) {
  std::vector<double> bare;
  std::vector<Estimate> squared;
  Json points = Json::array();
  for (const std::string& name : task.parameters->text_list("from")) {
    if (const auto square = squared_mass(job, task, name, points)) {
      bare.push_back(points.back().at("mass").get<double>());
      squared.push_back(*square);
    }
  }
  const auto line = line_through_zero(bare, squared);
  Json fit = {{"critical_mass", nullptr},
              {"critical_mass_spread", nullptr},
              {"critical_kappa", nullptr},
              {"slope", nullptr},
              {"largest_deviation", nullptr}};
  if (line) {
    fit["critical_mass"] = line->zero.value;
    fit["critical_mass_spread"] = line->zero.spread;
    fit["critical_kappa"] = 0.5 / (line->zero.value + 4);
    fit["slope"] = line->slope;
    fit["largest_deviation"] = line->deviation;
    log().info("{}: critical mass {:.6f}, maximum deviation from the fit {:.2g} (in the squared pion mass)", task.name,
               line->zero.value, line->deviation);
  } else {
    job.warn(
        "the squared pion mass does not grow with the bare mass over two or more different masses: no critical mass");
  }
  fit["window"] = task.parameters->integer_list("window");
  fit["points"] = std::move(points);
  job.record().blocks["critical_masses"] = std::move(fit);
}

}  // namespace

TaskEntry critical_mass_task() {
  TaskEntry entry;
  entry.name = "critical_mass";
  entry.table.name = "task critical_mass";
  entry.table.help = "extrapolate the squared pion mass linearly in the bare quark mass to zero";
  Parameter from;
  from.name = "from";
  from.type = ParameterType::list;
  from.help = "names of earlier mesons tasks, at different quark masses";
  from.required = true;
  from.element = {{.name = "name"}};
  from.fewest = 2;
  Parameter window;
  window.name = "window";
  window.type = ParameterType::list;
  window.help = "fit range [first, last] in times after the source: there the pion is a single cosh";
  window.required = true;
  window.element = {{.name = "time", .type = ParameterType::integer, .minimum = 0, .maximum = 4096}};
  window.fewest = window.most = 2;
  entry.table.parameters = {from, window};
  entry.references = {{"from", "mesons"}};
  entry.check = check_critical_mass;
  entry.check_used = check_points;
  entry.run = run_critical_mass;
  return entry;
}

}  // namespace quadrille
