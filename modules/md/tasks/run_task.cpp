#include "modules/md/tasks/run_task.h"

#include "core/backend/backend.h"
#include "core/comm/agreement.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "modules/md/dynamics/dynamics.h"
#include "modules/md/dynamics/series.h"
#include "modules/md/dynamics/trajectory.h"
#include "modules/md/system/system_parameters.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace quadrille::md {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// kcal / mol / Kelvin: the units of AMBER's files.
constexpr double amber_boltzmann = 1.987204259e-3;

constexpr const char* ways[] = {"on_the_fly", "afterwards", nullptr};
constexpr const char* truncations[] = {"cut", "shifted_potential", "shifted_force", nullptr};
constexpr const char* thermostats[] = {"none", "langevin", nullptr};
constexpr const char* starts[] = {"thermal", "file", nullptr};
constexpr const char* energies[] = {"method", "double", nullptr};

double boltzmann_of(const TaskContext& context) {
  if (context.has("boltzmann")) return context.real("boltzmann");
  return context.text("system.source") == "amber" ? amber_boltzmann : 1;
}

DynamicsOptions options_of(const TaskContext& context) {
  DynamicsOptions options;
  options.lists.forces = force_options_of(context);
  options.lists.forces.method = method_named(context.text("method"));
  options.lists.forces.backend = &find_backend(context.backend());
  options.lists.forces.ranks = &context.ranks();
  options.lists.forces.exclusions =
      context.text("exclusions") == "on_the_fly" ? ExclusionWay::on_the_fly : ExclusionWay::afterwards;
  options.lists.truncation = value_of(truncation_names, context.text("truncation"), "truncation");
  options.lists.skin = context.real("skin");
  options.time_step = context.real("time_step");
  options.boltzmann = boltzmann_of(context);
  if (context.text("thermostat") == "langevin") options.friction = context.real("friction");
  options.temperature = context.real("temperature");
  options.seed = std::uint64_t(context.integer("seed"));
  options.energies_in_double = context.text("energies") == "double";
  return options;
}

/// The units of a system's numbers where they are known: those of AMBER's files.
Json units_of(const TaskContext& context) {
  if (context.text("system.source") != "amber") return nullptr;
  Json units = {{"time", "48.888 fs"}, {"energy", "kcal/mol"}, {"pressure", "kcal/mol/Angstrom^3"}};
  if (!context.has("boltzmann")) units["temperature"] = "K";
  return units;
}

/// What follows from a file of `state`, and of a run that was interrupted.
Hdf5Array column(const std::vector<double>& numbers, std::int64_t width) {
  return {{std::int64_t(numbers.size()) / width, width}, numbers};
}

void write_state(const std::string& path, const Dynamics::Memory& memory) {
  const ListForces::Memory& lists = memory.lists;
  write_hdf5(path, {{"positions", column(memory.positions, 3)},
                    {"velocities", column(memory.velocities, 3)},
                    {"listed_positions", column(lists.listed_positions, 3)},
                    {"box", {{3}, {lists.box.begin(), lists.box.end()}}},
                    {"step", {{1}, {double(memory.step)}}},
                    {"exponents",
                     {{3}, {double(lists.force_exponent), double(lists.energy_exponent), lists.scaled ? 1.0 : 0.0}}}});
}

Dynamics::Memory read_state(const std::string& path, std::int64_t particles) {
  const Hdf5Reader file(path);
  const auto rows = [&](const char* name, std::int64_t count, std::int64_t width) {
    Hdf5Array array = file.read(name, width == 1 ? 1 : 2);
    if (array.dims[0] != count || (width > 1 && array.dims[1] != width)) {
      throw Error(ErrorCode::file, fmt::format("{}: dataset {} has {} rows: this system has {} particles", path, name,
                                               array.dims[0], particles));
    }
    return array.data;
  };
  Dynamics::Memory memory;
  memory.positions = rows("positions", particles, 3);
  memory.velocities = rows("velocities", particles, 3);
  memory.lists.listed_positions = rows("listed_positions", particles, 3);
  const std::vector<double> box = rows("box", 3, 1), exponents = rows("exponents", 3, 1);
  std::copy(box.begin(), box.end(), memory.lists.box.begin());
  memory.step = std::int64_t(rows("step", 1, 1)[0]);
  for (const double exponent : exponents) {
    if (std::abs(exponent) > 1000)
      throw Error(ErrorCode::file, path + ": dataset exponents has numbers outside of [-1000, 1000]");
  }
  memory.lists.force_exponent = int(exponents[0]);
  memory.lists.energy_exponent = int(exponents[1]);
  memory.lists.scaled = exponents[2] != 0;
  return memory;
}

std::vector<double> velocities_of(const TaskContext& context, const System& system, const DynamicsOptions& options) {
  if (context.text("velocities") == "thermal") {
    return thermal_velocities(system, options.temperature, options.boltzmann, options.seed);
  }
  if (system.velocities.empty()) {
    TaskContext::fail(
        QUADRILLE_INVALID_INPUT,
        "the system has no velocities: use a LAMMPS file with a Velocities section, an AMBER restart, or `velocities: "
        "thermal`",
        "velocities");
  }
  return system.velocities;
}

/// One run of the task: where it stands, and what it has written.
class Run {
 public:
  explicit Run(const TaskContext& context)
      : context_(context),
        ranks_(context.ranks()),
        system_(system_of(context)),
        options_(options_of(context)),
        dynamics_(system_, first_velocities(), options_) {
    if (context.has("start")) {
      const std::string file = context.input_file("start");
      dynamics_.remember(read_state(file, system_.size()));
    }
    first_step_ = dynamics_.step();
    last_step_ = first_step_ + context.integer("steps");
    TrajectoryWritten written;
    const bool again = resume(written);
    if (context.has("trajectory")) {
      const std::int64_t every = interval("trajectory_every");
      const std::string file = context.output_file("trajectory");
      on_first_rank(ranks_, [&] {
        trajectory_.emplace(file, system_.types,
                            TrajectoryTimes{(first_step_ + every - 1) / every * every, every, options_.time_step},
                            written);
      });
    }
    if (!again) record();
  }

  void work() {
    while (dynamics_.step() < last_step_) {
      const std::int64_t step = dynamics_.step();
      std::int64_t next = std::min(last_step_, step + longest_silence);
      for (const char* name : {"every", "trajectory_every", "keep_every"}) {
        next = std::min(next, next_multiple(step, interval(name)));
      }
      const double began = now();
      dynamics_.run(next - step);
      seconds_ += now() - began;
      steps_here_ += next - step;
      record();
      const double done = double(next - first_step_) / double(last_step_ - first_step_);
      context_.progress(fmt::format("step {}", next), done);
      const bool stop = context_.should_stop() && next < last_step_;
      if (stop || (next % interval("keep_every") == 0 && next < last_step_)) keep();
      if (stop) context_.stop(fmt::format("after step {}", next));
    }
    if (context_.has("state")) {
      const std::string file = context_.output_file("state");
      on_first_rank(ranks_, [&] { write_state(file, dynamics_.memory()); });
    }
    report();
  }

 private:
  std::vector<double> first_velocities() const {
    std::vector<double> out = velocities_of(context_, system_, options_);
    require_one_system(ranks_, system_, out);
    return out;
  }

  /// Steps after which it is asked whether to stop.
  static constexpr std::int64_t longest_silence = 100;

  std::int64_t interval(const char* name) const { return context_.integer(name); }
  static std::int64_t next_multiple(std::int64_t step, std::int64_t every) { return (step / every + 1) * every; }

  /// A row and a frame where it is time for them.
  void record() {
    const std::int64_t step = dynamics_.step();
    if (context_.has("trajectory") && step % interval("trajectory_every") == 0) {
      on_first_rank(ranks_, [&] { trajectory_->add(dynamics_.positions(), system_.box, step); });
    }
    if (step % interval("every") != 0 && step != last_step_ && step != first_step_) return;
    const Observables seen = dynamics_.observe();
    rows_.push_back({{"step", seen.step},
                     {"time", double(seen.step) * options_.time_step},
                     {"temperature", seen.temperature},
                     {"kinetic", seen.kinetic},
                     {"pairs", seen.pairs},
                     {"bonded", seen.bonded},
                     {"energy", seen.energy()},
                     {"pressure", seen.pressure},
                     {"momentum_x", seen.momentum[0]},
                     {"momentum_y", seen.momentum[1]},
                     {"momentum_z", seen.momentum[2]}});
    if (!std::isfinite(seen.energy())) {
      TaskContext::fail(QUADRILLE_NUMERICAL, fmt::format("step {}: the energy is {}", seen.step, seen.energy()));
    }
  }

  void keep() {
    const Dynamics::Memory memory = dynamics_.memory();
    const ListForces::Memory& lists = memory.lists;
    const TrajectoryWritten written = trajectory_ ? trajectory_->written() : TrajectoryWritten{};
    const std::string json = Json({{"step", memory.step},
                                   {"first_step", first_step_},
                                   {"exponents", {lists.force_exponent, lists.energy_exponent}},
                                   {"scaled", lists.scaled},
                                   {"frames", written.frames},
                                   {"bytes", written.bytes},
                                   {"list_builds", list_builds()},
                                   {"rows", rows_}})
                                 .dump();
    const auto put = [&](const char* name, const std::vector<double>& numbers) {
      context_.put_state(name, numbers.data(), numbers.size() * sizeof(double));
    };
    context_.put_state("state", json.data(), json.size());
    put("positions", memory.positions);
    put("velocities", memory.velocities);
    put("listed_positions", lists.listed_positions);
    context_.keep_state();
  }

  /// Whether an earlier run was interrupted: then all is as it was when it kept its last state.
  bool resume(TrajectoryWritten& written) {
    const std::optional<std::string_view> kept = context_.state_part("state");
    if (!kept) return false;
    Dynamics::Memory memory;
    const auto numbers = [&](const char* name) {
      const std::string_view bytes = context_.state_part(name).value_or("");
      std::vector<double> out(bytes.size() / sizeof(double));
      if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(double));
      return out;
    };
    try {
      const Json json = Json::parse(*kept);
      memory.step = json.at("step");
      first_step_ = json.at("first_step");
      memory.lists.force_exponent = json.at("exponents").at(0);
      memory.lists.energy_exponent = json.at("exponents").at(1);
      memory.lists.scaled = json.at("scaled");
      written = {json.at("frames"), json.at("bytes")};
      rows_ = json.at("rows");
      builds_before_ = json.value("list_builds", std::int64_t(0));
    } catch (const Json::exception&) {
      TaskContext::fail(
          QUADRILLE_FILE_ERROR,
          "the state of the interrupted run is damaged: a key is missing or its value is of the wrong type; "
          "choose another --out, or --force to start afresh");
    }
    memory.positions = numbers("positions");
    memory.velocities = numbers("velocities");
    memory.lists.listed_positions = numbers("listed_positions");
    memory.lists.box = system_.box;
    last_step_ = first_step_ + context_.integer("steps");
    dynamics_.remember(memory);
    builds_before_ -= dynamics_.statistics().builds;  // those of making the lists again
    return true;
  }

  std::int64_t list_builds() const { return builds_before_ + dynamics_.statistics().builds; }

  std::string drift_text(const Trend& drift) const {
    const std::string per = "per unit of time";
    if (rows_.size() < 2) return "too few rows (1) for the drift of the energy";
    const std::string text = fmt::format("the energy per particle drifts by {:+.2e}", drift.slope);
    if (!drift.slope_error) return fmt::format("{} {}, too few rows ({}) for an error", text, per, rows_.size());
    return fmt::format("{} +- {:.1e} {}", text, *drift.slope_error, per);
  }

  void report() const {
    const std::string file = context_.output_file("csv");
    on_first_rank(ranks_, [&] { write_file(file, csv_of_rows(rows_)); });
    std::vector<double> times, energy;
    double largest_change = 0;
    const double size = double(system_.size());
    for (const Json& row : rows_) {
      times.push_back(row.at("time"));
      energy.push_back(double(row.at("energy")) / size);
      for (const char* axis : {"momentum_x", "momentum_y", "momentum_z"}) {
        largest_change = std::max(largest_change, std::abs(double(row.at(axis)) - double(rows_.at(0).at(axis))));
      }
    }
    const Trend drift = trend_of(times, energy);
    const double speed = seconds_ > 0 ? double(steps_here_) * size / seconds_ : 0;
    const ListStatistics lists = dynamics_.statistics();
    log().info("{}: {:.3g} atom-steps per second; {}", context_.task_name(), speed, drift_text(drift));
    context_.result_in(
        "dynamics", Json({{"csv", context_.text("csv")},
                          {"method", letter_of(options_.lists.forces.method)},
                          {"threads", context_.threads()},
                          {"particles", system_.size()},
                          {"types", system_.table.types},
                          {"box", system_.box},
                          {"time_step", options_.time_step},
                          {"first_step", first_step_},
                          {"last_step", last_step_},
                          {"units", units_of(context_)},
                          {"energy_drift", known(rows_.size() > 1, drift.slope)},
                          {"energy_drift_error", known(drift.slope_error.has_value(), drift.slope_error.value_or(0))},
                          {"energy_fluctuation", known(drift.fluctuation.has_value(), drift.fluctuation.value_or(0))},
                          {"largest_momentum_change", largest_change},
                          {"seconds", seconds_},
                          {"steps_timed", steps_here_},
                          {"atom_steps_per_second", speed},
                          {"list_builds", list_builds()},
                          {"list_entries_per_particle", lists.pairs_per_particle},
                          {"rows", rows_}})
                        .dump());
  }

  const TaskContext& context_;
  const Communicator& ranks_;
  System system_;
  DynamicsOptions options_;
  Dynamics dynamics_;
  std::optional<Trajectory> trajectory_;  ///< on rank 0
  std::int64_t first_step_ = 0, last_step_ = 0, steps_here_ = 0;
  std::int64_t builds_before_ = 0;  ///< of the lists, by an interrupted run
  double seconds_ = 0;
  Json rows_ = Json::array();
};

}  // namespace

const quadrille_parameter run_parameters[run_parameter_count] = {
    required(group("system", "the particles", system_members, "source")),
    choice("method",
           "how forces are summed: A single in single, B in double, C Takahashi and Iitaka, D Nitadori, E modified "
           "Nitadori, F Narumi, F* with added constants instead of conversions, G double, int64 fixed point",
           "F", method_letters.data()),
    integer("steps", "number of steps", "1000", within(0, 1e15)),
    real("time_step", "in units of length x sqrt(mass / energy); for AMBER files 48.8882 fs", "0.005", above(0)),
    real("temperature", "of the initial velocities and of the thermostat", "1.44", at_least(0)),
    choice("velocities", "at the start: thermal, or file: those in the LAMMPS file or in the AMBER coordinates",
           "thermal", starts),
    choice("thermostat", "langevin: friction and noise (BAOAB)", "none", thermostats),
    real("friction", "of the thermostat, in units of 1 / time", "1", above(0)),
    real("boltzmann",
         "Boltzmann's constant, energy / temperature; default: 1, or 0.001987204 kcal / mol / K for AMBER files",
         nullptr, above(0)),
    integer("seed", "of initial velocities and the thermostat", "1", within(0, 9e15)),
    real("cutoff", "of pair forces, in a periodic box with edges of at least twice the cutoff", "2.5", above(0)),
    choice("truncation", "at the cutoff: forces simply cut off, the potential shifted to 0, or the force too",
           "shifted_force", truncations),
    real("skin", "neighbour lists reach to cutoff + skin and are rebuilt when a particle has moved by half the skin",
         "0.3", above(0)),
    coulomb_parameter,
    coulomb_constant_parameter,
    dielectric_parameter,
    boolean("scaled_pairs", "include the scaled 1-4 interactions", "true"),
    choice("exclusions", "how excluded pairs are left out: masked on the fly, or subtracted afterwards", "on_the_fly",
           ways),
    choice("energies",
           "how the energies of the rows are summed: by the method, or in double precision at the same positions",
           "method", energies),
    integer("every", "steps between rows", "100", within(1, 1e15)),
    file_out("trajectory", "positions, as .xyz or .dcd"),
    integer("trajectory_every", "steps between frames", "1000", within(1, 1e15)),
    integer("keep_every",
            "steps between saved states, from which an interrupted run continues; a run also saves one when it is "
            "interrupted",
            "10000", within(1, 1e15)),
    file_in("start", "a `state` file (HDF5) of an earlier run, which this run continues"),
    file_out("state", "positions, velocities and everything else that the next step depends on, at the end (HDF5)"),
    csv("md_run.csv")};

void check_run(const TaskContext& context) {
  check_system_parameters(context);
  const std::string source = context.text("system.source");
  if (context.text("velocities") == "file" && source != "amber" && source != "lammps") {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("particles of the source {} have no velocities; use thermal, or a file", source),
                      "velocities");
  }
  if (context.has("trajectory")) {
    try {
      trajectory_form(context.text("trajectory"));
    } catch (const Error& error) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, error.message(), "trajectory");
    }
  }
}

void run_dynamics(const TaskContext& context) {
  check_run(context);
  Run(context).work();
}

}  // namespace quadrille::md
