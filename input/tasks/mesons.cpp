#include "input/tasks/mesons.h"

#include "input/contractions/momenta_parameter.h"
#include "input/job/document.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/tasks/meson_channels.h"
#include "input/tasks/pion_mass.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

void check_mesons(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  check_momenta(*task.parameters, dims, errors);
}

/// What decides which quarks meet where: all of a source but its momentum.
Json source_without_momentum(const TaskSpec& propagator) {
  Json source = to_json(propagator.parameters->group("source"));
  source.erase("momentum");
  return source;
}

void check_mesons_used(const TaskSpec& task, const Job& job, std::vector<Error>& errors) {
  if (!task.parameters->has("antiquark")) return;
  const std::string &quark = task.parameters->text("from"), &antiquark = task.parameters->text("antiquark");
  if (source_without_momentum(find_task(job, quark)) == source_without_momentum(find_task(job, antiquark))) return;
  errors.emplace_back(ErrorCode::invalid_input,
                      fmt::format("'antiquark' must name a propagator from the same source as '{}'", quark),
                      task.parameters->where("antiquark"));
}

/// The propagators of a task, in memory that contractions can read.
struct MesonQuarks {
  Dims source{};
  bool solved = true;
  std::vector<double> norms;  ///< of the time slices, of one propagator
  std::optional<ReadablePropagator> quark, other;

  /// `contracted`: whether they are needed for more than norms.
  MesonQuarks(JobRun& job, const Parameters& parameters, bool contracted) {
    const bool two = parameters.has("antiquark");
    const SolvedPropagator& first = job.propagator(parameters.text("from"));
    source = first.source;
    solved = first.unsolved == 0;
    const JobClock::Span contracting = job.count(Phase::contractions);
    if (solved && !two) norms = slice_norms(first.field);
    if (solved && contracted) quark.emplace(first.field);
    if (!two) return;
    const SolvedPropagator& second = job.propagator(parameters.text("antiquark"));
    solved = solved && second.unsolved == 0;
    if (solved) other.emplace(second.field);
  }
};

Json correlator_json(const SpaceSums& sums, std::size_t channel, std::size_t momentum, const Momentum& n, bool real) {
  const std::complex<double>* values = sums.of(channel, momentum);
  std::vector<double> re, im;
  for (std::size_t t = 0; t < sums.times(); ++t) {
    re.push_back(values[t].real());
    im.push_back(values[t].imag());
  }
  Json out = {{"momentum", n}, {"re", re}};
  if (!real) out["im"] = im;
  return out;
}

/// What there is of a propagator with columns that have no solution.
Json missing_json(std::size_t times, const Momentum& n, bool real) {
  Json out = {{"momentum", n}, {"re", std::vector<Json>(times)}};
  if (!real) out["im"] = std::vector<Json>(times);
  return out;
}

/// The channels of a task; without sums those that are missing.
Json channels_json(const std::vector<NamedChannel>& channels, const std::vector<Momentum>& momenta,
                   const SpaceSums* sums, std::size_t times, bool one_propagator) {
  Json out = Json::object();
  for (std::size_t k = 0; k < channels.size(); ++k) {
    Json& channel = out[channels[k].name];
    channel = {{"sink", channels[k].sink}, {"source", channels[k].source}, {"correlators", Json::array()}};
    for (std::size_t p = 0; p < momenta.size(); ++p) {
      const bool real = one_propagator && momenta[p] == Momentum{} && real_at_rest(channels[k].gammas());
      channel["correlators"].push_back(sums ? correlator_json(*sums, k, p, momenta[p], real)
                                            : missing_json(times, momenta[p], real));
    }
  }
  return out;
}

/// The pion at rest: of one propagator the sum over space, spins and colors of |S|^2: gamma5-hermiticity makes it the
/// correlator of the pseudoscalar density; with a twisted mass that of the charged pion, as gamma5 S^+ gamma5 is the
/// other flavour's; with a chemical potential the two flavours have opposite ones. Of two the real part of the same.
std::vector<double> pion_at_rest(const MesonQuarks& quarks, const SpaceSums* sums, std::size_t pion_channel) {
  if (!quarks.norms.empty()) return quarks.norms;
  std::vector<double> pion;
  for (std::size_t t = 0; t < sums->times(); ++t) pion.push_back(sums->of(pion_channel, 0)[t].real());
  return pion;
}

void run_mesons(JobRun& job, const TaskSpec& task) {
  const Parameters& parameters = *task.parameters;
  std::vector<NamedChannel> channels = channels_of(parameters);
  const std::vector<Momentum> momenta = momenta_of(parameters);
  const bool two = parameters.has("antiquark"), pion_alone = channels.size() == 1 && channels[0].is_pion();
  const bool contracted = two || !pion_alone || momenta.size() > 1;
  const MesonQuarks quarks(job, parameters, contracted);
  const JobClock::Span contracting = job.count(Phase::contractions);
  const auto times = std::size_t(job.lattice().global_dims()[3]);
  const int source_time = quarks.source[3];

  std::vector<MesonChannel> gammas;
  for (const NamedChannel& channel : channels) gammas.push_back(channel.gammas());
  const auto is_pion = [](const NamedChannel& channel) { return channel.is_pion(); };
  const auto pion = std::size_t(std::find_if(channels.begin(), channels.end(), is_pion) - channels.begin());
  if (two && pion == channels.size()) gammas.push_back({gamma5(), gamma5()});
  std::optional<SpaceSums> sums;
  if (contracted && quarks.solved)
    sums = meson_correlators(*quarks.quark, two ? *quarks.other : *quarks.quark, gammas, momenta, quarks.source);

  Json& out = job.record().correlators;
  if (quarks.solved) {
    const std::vector<double> correlator = pion_at_rest(quarks, sums ? &*sums : nullptr, pion);
    out = {{"pion", correlator},
           {"source_time", source_time},
           {"effective_mass", effective_mass_json(correlator, source_time)}};
  } else {  // the propagator's task has said so
    out = {{"pion", std::vector<Json>(times)},
           {"source_time", source_time},
           {"effective_mass", std::vector<Json>(times / 2)}};
  }
  if (!contracted) return;
  out["source"] = quarks.source;
  out["channels"] = channels_json(channels, momenta, sums ? &*sums : nullptr, times, !two);
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
      momenta_parameter()};
  entry.references = {{"from", "propagator"}, {"antiquark", "propagator"}};
  entry.check = check_mesons;
  entry.check_used = check_mesons_used;
  entry.run = run_mesons;
  return entry;
}

}  // namespace quadrille
