#include "input/tasks/generate.h"

#include "core/gauge/observables.h"
#include "core/kernel_log.h"
#include "core/log.h"
#include "input/files/gauge_file.h"
#include "input/job.h"
#include "input/job_run.h"
#include "input/progress.h"
#include "modules/quenched/autocorrelation.h"
#include "modules/quenched/pure_gauge.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;
using quenched::ChainMean;
using quenched::PureGauge;

/// What a job asks for. Sweeps have absolute numbers: `first` is the number of the first one.
struct Plan {
  quenched::WilsonGaugeAction action;
  std::int64_t thermalization, configurations, separation, first, reunitarize_every;
  int overrelaxation;
  std::uint64_t seed;

  explicit Plan(const Parameters& p)
      : action{p.real("beta"), p.group("anisotropy").real("xi0")},
        thermalization(p.integer("thermalization")),
        configurations(p.integer("configurations")),
        separation(p.integer("separation")),
        first(p.integer("first_sweep")),
        reunitarize_every(p.integer("reunitarize_every")),
        overrelaxation(int(p.integer("overrelaxation"))),
        seed(std::uint64_t(p.integer("seed"))) {}

  std::int64_t sweeps() const { return thermalization + configurations * separation; }
  /// True when a configuration is complete after `done` sweeps.
  bool complete(std::int64_t done) const { return done > thermalization && (done - thermalization) % separation == 0; }
};

/// The name of the file of the configuration after `sweep` sweeps: '#...#' in the pattern is its number.
std::string file_name(const std::string& pattern, std::int64_t sweep) {
  const std::size_t begin = pattern.find('#');
  if (begin == std::string::npos) return pattern;
  const std::size_t end = std::min(pattern.find_first_not_of('#', begin), pattern.size());
  return fmt::format("{}{:0{}}{}", pattern.substr(0, begin), sweep, end - begin, pattern.substr(end));
}

std::vector<std::string> outputs(const Parameters& parameters) {
  std::vector<std::string> names;
  if (!parameters.has("save")) return names;
  const Plan plan(parameters);
  // A pattern without a number that should have one: check() says so.
  const bool numbered = parameters.group("save").text("file").find('#') != std::string::npos;
  for (std::int64_t n = 1; n <= (numbered ? plan.configurations : 1); ++n) {
    names.push_back(
        file_name(parameters.group("save").text("file"), plan.first + plan.thermalization + n * plan.separation));
  }
  return names;
}

void check(const TaskSpec& task, const Dims&, std::vector<Error>& errors) {
  if (!task.parameters->has("save")) return;
  const Parameters& save = task.parameters->group("save");
  const std::string& pattern = save.text("file");
  const std::size_t begin = pattern.find('#'), end = pattern.find_first_not_of('#', begin);
  const auto add = [&](const std::string& message) {
    errors.emplace_back(ErrorCode::invalid_input, message, save.where("file"));
  };
  if (begin == std::string::npos && task.parameters->integer("configurations") > 1) {
    add(fmt::format("'{}' would be the name of {} configurations: put #### where the number of the sweep should stand",
                    pattern, task.parameters->integer("configurations")));
  }
  if (begin != std::string::npos && pattern.find('#', std::min(end, pattern.size())) != std::string::npos) {
    add(fmt::format("'{}' has more than one place for the number of the sweep: leave one row of #", pattern));
  }
}

/// What was seen after each sweep.
struct History {
  std::vector<double> plaquette, spatial, temporal, loop_re, loop_im;

  void add(const PureGauge& gauge) {
    const std::array<double, 6> planes = gauge.planes();
    const Complex loop = gauge.polyakov_loop();
    plaquette.push_back(quenched::plaquette_of(planes));
    spatial.push_back(quenched::spatial_plaquette_of(planes));
    temporal.push_back(quenched::temporal_plaquette_of(planes));
    loop_re.push_back(loop.real());
    loop_im.push_back(loop.imag());
  }
};

/// Mean and error over the sweeps after the thermalization. Where no error can be given it is null, with the reason.
Json mean_json(JobRun& job, const char* what, const std::vector<double>& history, const Plan& plan) {
  const ChainMean mean = quenched::chain_mean({history.begin() + std::ptrdiff_t(plan.thermalization), history.end()});
  Json out = {{"mean", mean.mean}};
  const auto number = [&](double x) { return mean.reliable ? Json(x) : Json(nullptr); };
  out["error"] = number(mean.error);
  out["tau_int"] = number(mean.tau_int);
  out["tau_int_error"] = number(mean.tau_int_error);
  out["window"] = mean.window;
  out["sweeps"] = mean.count;
  if (!mean.reliable) {
    job.warn(fmt::format("{} sweeps after the thermalization are too few for an error of the {}", mean.count, what));
  }
  return out;
}

Json acceptance_json(const quenched::HeatbathCounts& counts) {
  const auto ratio = [](std::int64_t draws, std::int64_t attempts) {
    return attempts > 0 ? Json(double(draws) / double(attempts)) : Json(nullptr);
  };
  const double creutz = counts.draws > 0 ? double(counts.creutz_draws) / double(counts.draws) : 0;
  return {{"kennedy_pendleton", ratio(counts.draws - counts.creutz_draws, counts.attempts - counts.creutz_attempts)},
          {"creutz", ratio(counts.creutz_draws, counts.creutz_attempts)},
          {"fraction_by_creutz", creutz}};
}

Json report(JobRun& job, const History& history, const PureGauge& gauge, const Plan& plan) {
  Json out;
  out["plaquette"] = mean_json(job, "plaquette", history.plaquette, plan);
  if (plan.action.xi0 != 1) {
    out["plaquette_spatial"] = mean_json(job, "spatial plaquette", history.spatial, plan);
    out["plaquette_temporal"] = mean_json(job, "temporal plaquette", history.temporal, plan);
  }
  out["acceptance"] = acceptance_json(gauge.counts());
  return out;
}

Json timing(double update_seconds, double whole_seconds, const PureGauge& gauge, const Plan& plan) {
  const double sweeps = double(plan.sweeps());
  const double updates = sweeps * (1 + plan.overrelaxation) * 4 * double(volume(gauge.field().lattice().dims()));
  return {{"seconds", whole_seconds},
          {"seconds_per_sweep", update_seconds / sweeps},
          {"link_updates_per_second", updates / update_seconds}};
}

Json history_json(const History& history, const Plan& plan) {
  Json out = {{"first_sweep", plan.first}, {"plaquette", history.plaquette}};
  if (plan.action.xi0 != 1) {
    out["plaquette_spatial"] = history.spatial;
    out["plaquette_temporal"] = history.temporal;
  }
  out["polyakov_loop"] = {{"re", history.loop_re}, {"im", history.loop_im}};
  return out;
}

void save(JobRun& job, const TaskSpec& task, const PureGauge& gauge, std::int64_t sweep) {
  if (!task.parameters->has("save")) return;
  const Parameters& block = task.parameters->group("save");
  const std::string file = file_name(block.text("file"), sweep);
  write_gauge_file(job.folder().prepare(file).string(), gauge.links(),
                   {.precision = block.text("precision") == "double" ? 64 : 32});
  job.record().files.push_back(file);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Operators of the same job see the links of its gauge block, which a reader of the job may not expect.
void warn_of_operators(JobRun& job, const TaskSpec& task) {
  for (const TaskSpec& other : job.job().run) {
    if (!other.op) continue;
    job.warn(fmt::format("the task '{}' works on the links of the block 'gauge', not on those that '{}' makes",
                         other.name, task.name));
  }
}

void run(JobRun& job, const TaskSpec& task) {
  const Plan plan(*task.parameters);
  warn_of_operators(job, task);
  PureGauge gauge(job.lattice(), job.gauge().source->links(), plan.action, plan.seed, job.backend());
  // A file in single precision is unitary to 1e-6 only. One in double that this task wrote stays as it is to the bit.
  if (!(job.gauge().report.at("unitarity").at("unitarity").get<double>() < 1e-13)) (void)gauge.reunitarize();
  History history;
  double drift = 0, update_seconds = 0;
  ProgressLine line(task.name, 1);
  const auto began = std::chrono::steady_clock::now();
  for (std::int64_t done = 1; done <= plan.sweeps(); ++done) {
    const std::int64_t number = plan.first + done - 1;
    const auto sweep_began = std::chrono::steady_clock::now();
    gauge.sweep(std::uint64_t(number), plan.overrelaxation);
    // By absolute numbers and before every configuration, so that a chain cut at one goes on with the same bits.
    if ((number + 1) % plan.reunitarize_every == 0 || plan.complete(done)) drift = std::max(drift, gauge.reunitarize());
    job.backend().synchronize();
    update_seconds += seconds_since(sweep_began);
    history.add(gauge);
    if (!std::isfinite(history.plaquette.back())) {
      throw Error(ErrorCode::numerical, fmt::format("{}: the links are no longer finite after sweep {}: start from "
                                                    "links that are in SU(3)",
                                                    task.name, number));
    }
    line.update(fmt::format("sweep {}/{}, plaquette {:.6f}", done, plan.sweeps(), history.plaquette.back()),
                double(done) / double(plan.sweeps()));
    if (plan.complete(done)) save(job, task, gauge, number + 1);
  }
  Json out = report(job, history, gauge, plan);
  out["largest_drift"] = drift;
  out["files"] = job.record().files;
  out.update(timing(update_seconds, seconds_since(began), gauge, plan));
  out["history"] = history_json(history, plan);
  const Json& mean = out["plaquette"];
  log().info("{}: {} sweeps, {:.3g} s each, {:.2f} million link updates/s; plaquette {:.6f}{}", task.name,
             plan.sweeps(), out["seconds_per_sweep"].get<double>(), out["link_updates_per_second"].get<double>() * 1e-6,
             mean["mean"].get<double>(),
             mean["error"].is_null() ? std::string() : fmt::format(" +- {:.6f}", mean["error"].get<double>()));
  job.record().blocks["chains"] = std::move(out);
}

Parameter whole(const char* name, const char* help, const char* default_text, double minimum, double maximum) {
  return {.name = name,
          .type = ParameterType::integer,
          .help = help,
          .default_text = default_text,
          .minimum = minimum,
          .maximum = maximum};
}

ParameterTable table() {
  const Parameter beta{.name = "beta",
                       .type = ParameterType::real,
                       .help = "inverse coupling 6/g^2",
                       .required = true,
                       .minimum = 0,
                       .maximum = 1000};
  const Parameter xi0{.name = "xi0",
                      .type = ParameterType::real,
                      .help = "bare anisotropy: spatial planes have beta/xi0, temporal ones beta xi0",
                      .default_text = "1",
                      .minimum = 0.01,
                      .maximum = 100};
  const Parameter anisotropy{.name = "anisotropy",
                             .type = ParameterType::group,
                             .help = "anisotropic action",
                             .default_text = "{}",
                             .members = {xi0}};
  Parameter thermalization =
      whole("thermalization", "sweeps before those that count and whose configurations are saved", "0", 0, 1e7);
  thermalization.required = true;
  thermalization.default_text.reset();
  Parameter save;
  save.name = "save";
  save.type = ParameterType::group;
  save.help = "write the configurations as ILDG, with checksums";
  save.members = {{.name = "file",
                   .type = ParameterType::file_out,
                   .help = "their names; a row of # stands for the number of sweeps done, as in b6.0_#####.lime",
                   .required = true},
                  {.name = "precision",
                   .type = ParameterType::choice,
                   .help = "of the numbers in the files",
                   .default_text = "double",
                   .choices = {"single", "double"}}};
  save.shorthand = "file";
  return {.name = "task generate",
          .help =
              "pure gauge configurations with the Wilson plaquette action, from the links of the block 'gauge'; a "
              "sweep is one of heatbath and then those of overrelaxation",
          .parameters = {beta, anisotropy, thermalization, whole("configurations", "to make", "1", 1, 100000),
                         whole("separation", "sweeps from one configuration to the next", "1", 1, 1e7),
                         whole("overrelaxation", "sweeps of overrelaxation after each of heatbath", "4", 0, 1000),
                         whole("seed", "of the random numbers", "1", 0, 9e18),
                         whole("first_sweep",
                               "number of the first sweep: to go on from a saved file with the bits of one long run, "
                               "the number in its name",
                               "0", 0, 1e12),
                         whole("reunitarize_every",
                               "sweeps between projections of the links on SU(3), against rounding", "10", 1, 1e7),
                         save}};
}

}  // namespace

TaskEntry generate_task() {
  TaskEntry entry;
  entry.name = "generate";
  entry.table = table();
  entry.check = check;
  entry.outputs = outputs;
  entry.run = run;
  return entry;
}

}  // namespace quadrille
