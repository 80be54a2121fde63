#include "input/tasks/hadrons/baryons.h"

#include "input/contractions/baryons.h"
#include "input/contractions/momenta_parameter.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/tasks/hadrons/quarks.h"

#include <optional>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

void check_baryons_used(const TaskSpec& task, const Job& job, std::vector<Error>& errors) {
  check_same_source(task, job, "other", errors);
}

void run_baryons(JobRun& job, const TaskSpec& task) {
  const std::vector<std::string> names = task.parameters->text_list("channels");
  const std::vector<Momentum> momenta = momenta_of(*task.parameters);
  const HadronQuarks quarks(job, task, "other", true);
  const JobClock::Span contracting = job.count(Phase::contractions);
  std::optional<SpaceSums> sums;
  if (quarks.solved()) sums = baryon_correlators(quarks.first(), quarks.second(), names, momenta, quarks.source());
  Json channels = Json::object();
  for (std::size_t k = 0; k < names.size(); ++k) {
    channels[names[k]]["correlators"] = Json::array();
    for (std::size_t p = 0; p < momenta.size(); ++p)
      channels[names[k]]["correlators"].push_back(correlator_json(sums ? &*sums : nullptr, k, p, momenta[p],
                                                                  std::size_t(job.lattice().global_dims()[3]), false));
  }
  job.record().correlators = {
      {"source_time", quarks.source()[3]}, {"source", quarks.source()}, {"channels", std::move(channels)}};
}

}  // namespace

TaskEntry baryons_task() {
  TaskEntry entry;
  entry.name = "baryons";
  entry.table.name = "task baryons";
  entry.table.help =
      "baryon correlators of one or two propagators: sum_x exp(-i p (x - x0)) tr[P <B(x) Bbar(x0)>] with parity "
      "projected, x0 the source";
  Parameter channels;
  channels.name = "channels";
  channels.type = ParameterType::list;
  channels.help =
      "nucleon: (u^T C g5 d) u; nucleon_nr: the same of quarks of positive parity, (u^T C g5 (1 + gt) / 2 d) u; delta: "
      "(u^T C g-+ u) u with J_z = +-3/2, C = gy gt; P = (1 + gt) / 2, of the negative ones (1 - gt) / 2";
  channels.default_text = "[nucleon]";
  channels.element = {{.name = "baryon", .type = ParameterType::choice, .choices = baryon_names()}};
  entry.table.parameters = {
      {.name = "from", .help = "name of an earlier propagator task: the two like quarks (u)", .required = true},
      {.name = "other",
       .help = "name of an earlier propagator task from the same source: the third quark (d) of a nucleon; default: "
               "the same"},
      channels,
      momenta_parameter(),
      sink_smearing_parameter()};
  entry.references = {{"from", "propagator"}, {"other", "propagator"}};
  entry.links_of_used = "sink_smearing";
  entry.check = check_hadrons;
  entry.check_used = check_baryons_used;
  entry.run = run_baryons;
  return entry;
}

}  // namespace quadrille
