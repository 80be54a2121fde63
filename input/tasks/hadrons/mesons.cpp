#include "input/tasks/hadrons/mesons.h"

#include "input/contractions/momenta_parameter.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/tasks/hadrons/meson_channels.h"
#include "input/tasks/hadrons/quarks.h"
#include "input/tasks/pion_mass.h"

#include <algorithm>
#include <optional>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

void check_mesons_used(const TaskSpec& task, const Job& job, std::vector<Error>& errors) {
  check_same_source(task, job, "antiquark", errors);
}

/// Of a channel with one gamma at both ends, at rest; of two propagators from the real part.
Json masses_of(const NamedChannel& channel, const SpaceSums* sums, std::size_t output, std::size_t times,
               int source_time) {
  if (sums == nullptr) return std::vector<Json>(times / 2);
  std::vector<double> correlator;
  for (std::size_t t = 0; t < times; ++t)
    correlator.push_back(norm_sign(channel.gammas().sink) * sums->of(output, 0)[t].real());
  return effective_mass_json(correlator, source_time);
}

/// The channels of a task; without sums those that are missing.
Json channels_json(const std::vector<NamedChannel>& channels, const std::vector<Momentum>& momenta,
                   const SpaceSums* sums, std::size_t times, int source_time, bool one_propagator) {
  Json out = Json::object();
  for (std::size_t k = 0; k < channels.size(); ++k) {
    Json& channel = out[channels[k].name];
    channel = {{"sink", channels[k].sink}, {"source", channels[k].source}, {"correlators", Json::array()}};
    if (channels[k].sink == channels[k].source)
      channel["effective_mass"] = masses_of(channels[k], sums, k, times, source_time);
    for (std::size_t p = 0; p < momenta.size(); ++p) {
      const bool real = one_propagator && momenta[p] == Momentum{} && real_at_rest(channels[k].gammas());
      channel["correlators"].push_back(correlator_json(sums, k, p, momenta[p], times, real));
    }
  }
  return out;
}

/// The pion at rest: of one propagator the sum over space, spins and colors of |S|^2: gamma5-hermiticity makes it the
/// correlator of the pseudoscalar density; with a twisted mass that of the charged pion, as gamma5 S^+ gamma5 is the
/// other flavour's; with a chemical potential the two flavours have opposite ones. Of two the real part of the same.
std::vector<double> pion_at_rest(const HadronQuarks& quarks, const SpaceSums* sums, std::size_t pion_channel) {
  if (!quarks.norms().empty()) return quarks.norms();
  std::vector<double> pion;
  for (std::size_t t = 0; t < sums->times(); ++t) pion.push_back(sums->of(pion_channel, 0)[t].real());
  return pion;
}

/// The gammas of the channels, and of the pion, whose number is put into `pion`.
std::vector<MesonChannel> gammas_of(const std::vector<NamedChannel>& channels, std::size_t& pion) {
  std::vector<MesonChannel> gammas;
  for (const NamedChannel& channel : channels) gammas.push_back(channel.gammas());
  const auto is_pion = [](const NamedChannel& channel) { return channel.is_pion(); };
  pion = std::size_t(std::find_if(channels.begin(), channels.end(), is_pion) - channels.begin());
  if (pion == channels.size()) gammas.push_back({gamma5(), gamma5()});
  return gammas;
}

void run_mesons(JobRun& job, const TaskSpec& task) {
  const Parameters& parameters = *task.parameters;
  const std::vector<NamedChannel> channels = channels_of(parameters);
  const std::vector<Momentum> momenta = momenta_of(parameters);
  const bool two = parameters.has("antiquark"), pion_alone = channels.size() == 1 && channels[0].is_pion();
  const bool contracted = two || !pion_alone || momenta.size() > 1 || parameters.has("sink_smearing");
  const HadronQuarks quarks(job, task, "antiquark", contracted);
  const JobClock::Span contracting = job.count(Phase::contractions);
  const auto times = std::size_t(job.lattice().global_dims()[3]);
  const int source_time = quarks.source()[3];

  std::size_t pion = 0;
  const std::vector<MesonChannel> gammas = gammas_of(channels, pion);
  std::optional<SpaceSums> sums;
  if (contracted && quarks.solved())
    sums = meson_correlators(quarks.first(), quarks.second(), gammas, momenta, quarks.source());
  const SpaceSums* const found = sums ? &*sums : nullptr;

  Json& out = job.record().correlators;
  if (quarks.solved()) {
    const std::vector<double> correlator = pion_at_rest(quarks, found, pion);
    out = {{"pion", correlator},
           {"source_time", source_time},
           {"effective_mass", effective_mass_json(correlator, source_time)}};
  } else {  // the propagator's task has said so
    out = {{"pion", std::vector<Json>(times)},
           {"source_time", source_time},
           {"effective_mass", std::vector<Json>(times / 2)}};
  }
  if (!contracted) return;
  out["source"] = quarks.source();
  out["channels"] = channels_json(channels, momenta, found, times, source_time, !two);
}

}  // namespace

TaskEntry mesons_task() {
  TaskEntry entry;
  entry.name = "mesons";
  entry.table.name = "task mesons";
  entry.table.help =
      "meson correlators of one or two propagators: the pion (with a twisted mass the charged one, with a chemical "
      "potential that of two flavours with opposite ones), and any pair of gamma matrices, with momenta";
  entry.table.parameters = {
      {.name = "from", .help = "name of an earlier propagator task: the quark", .required = true},
      {.name = "antiquark", .help = "name of an earlier propagator task from the same source; default: the same"},
      channels_parameter(),
      momenta_parameter(),
      sink_smearing_parameter()};
  entry.references = {{"from", "propagator"}, {"antiquark", "propagator"}};
  entry.links_of_used = "sink_smearing";
  entry.check = check_hadrons;
  entry.check_used = check_mesons_used;
  entry.run = run_mesons;
  return entry;
}

}  // namespace quadrille
