#include "input/tasks/hadrons/three_point.h"

#include "input/contractions/mesons.h"
#include "input/contractions/momenta_parameter.h"
#include "input/job/document.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/tasks/hadrons/quark_line.h"
#include "input/tasks/hadrons/quarks.h"
#include "input/tasks/propagator/source_place.h"

#include <fmt/format.h>

#include <optional>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

const Parameters& sink_of(const TaskSpec& task, const Job& job) {
  return find_task(job, task.parameters->text("sequential")).parameters->group("source");
}

void check_three_point_used(const TaskSpec& task, const Job& job, std::vector<Error>& errors) {
  const Parameters& sink = sink_of(task, job);
  const auto add = [&](const char* name, std::string message) {
    errors.emplace_back(ErrorCode::invalid_input, std::move(message), task.parameters->where(name));
  };
  if (sink.text("type") != "sequential")
    return add("sequential", fmt::format("'sequential' must name a propagator whose source is sequential; that of '{}' "
                                         "is {}",
                                         task.parameters->text("sequential"), sink.text("type")));
  if (!same_source(job, task.parameters->text("from"), sink.text("from")))
    add("from",
        fmt::format("'from' must name a propagator from the same source as '{}', which the sequential source of "
                    "'{}' is made of",
                    sink.text("from"), task.parameters->text("sequential")));
  const std::string problem = problem_of_line(job, task.parameters->text("from"), task.parameters->text("sequential"));
  if (!problem.empty()) add("sequential", "'sequential': " + problem);
}

/// tr[G S g5 X^+ g5] is what mesons have, with X in the place of the antiquark.
SpaceSums three_point_correlators(const HadronQuarks& quarks, const std::vector<std::string>& currents,
                                  const std::vector<Momentum>& momenta) {
  std::vector<MesonChannel> channels;
  for (const std::string& name : currents) channels.push_back({gamma_named(name), gamma_named("1")});
  std::vector<Momentum> absorbed = momenta;  // exp(i q x), not exp(-i q x)
  for (Momentum& n : absorbed)
    for (int& component : n) component = -component;
  return meson_correlators(quarks.first(), quarks.second(), channels, absorbed, quarks.source());
}

void run_three_point(JobRun& job, const TaskSpec& task) {
  const std::vector<std::string> currents = task.parameters->text_list("currents");
  const std::vector<Momentum> momenta = momenta_of(*task.parameters);
  const Parameters& sink = sink_of(task, job.job());
  for (const std::string& what :
       unusual_in_line(job.job(), task.parameters->text("from"), task.parameters->text("sequential")))
    job.warn(what);
  const HadronQuarks quarks(job, task, "sequential", true);
  const JobClock::Span contracting = job.count(Phase::contractions);
  std::optional<SpaceSums> sums;
  if (quarks.solved()) sums = three_point_correlators(quarks, currents, momenta);
  Json channels = Json::object();
  for (std::size_t k = 0; k < currents.size(); ++k) {
    channels[currents[k]]["correlators"] = Json::array();
    for (std::size_t p = 0; p < momenta.size(); ++p)
      channels[currents[k]]["correlators"].push_back(correlator_json(
          sums ? &*sums : nullptr, k, p, momenta[p], std::size_t(job.lattice().global_dims()[3]), false));
  }
  Json& out = job.record().correlators;
  out = {{"source_time", quarks.source()[3]},
         {"source", quarks.source()},
         {"sink_time", sink.integer("time")},
         {"sink_momentum", sink.integer_list("momentum")},
         {"hadron", to_json(sink.group("hadron"))}};
  out["channels"] = std::move(channels);
}

}  // namespace

TaskEntry three_point_task() {
  TaskEntry entry;
  entry.name = "three_point";
  entry.table.name = "task three_point";
  entry.table.help =
      "correlators of a hadron at the source, a local current qbar G q at t, and the hadron at the sink: C(q, t) = "
      "sum_y exp(i q (y - x0)) tr[G S(y) g5 X(y)^+ g5] with S the quark from the source x0 and X the propagator from a "
      "sequential source at the sink of momentum p', so that the hadron comes with p' - q; connected, not renormalised";
  Parameter currents;
  currents.name = "currents";
  currents.type = ParameterType::list;
  currents.help = "G of the currents: gamma matrices by name";
  currents.default_text = "[gt]";
  currents.element = {{.name = "current", .type = ParameterType::choice, .choices = gamma_names()}};
  entry.table.parameters = {{.name = "from",
                             .help = "name of an earlier propagator task: the quark S that the current is on",
                             .required = true},
                            {.name = "sequential",
                             .help = "name of an earlier propagator task with a sequential source at the sink: X",
                             .required = true},
                            currents,
                            momenta_parameter()};
  entry.references = {{"from", "propagator"}, {"sequential", "propagator"}};
  entry.check = check_hadrons;
  entry.check_used = check_three_point_used;
  entry.run = run_three_point;
  return entry;
}

}  // namespace quadrille
