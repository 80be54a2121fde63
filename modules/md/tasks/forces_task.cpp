#include "modules/md/tasks/forces_task.h"

#include "core/backend/backend.h"
#include "core/comm/agreement.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "modules/md/system/system_parameters.h"
#include "modules/md/tasks/force_study.h"
#include "modules/shared/study/study_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace quadrille::md {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

std::vector<Method> methods_of(const TaskContext& context) {
  std::vector<Method> out;
  for (const std::string& name : context.texts("methods")) {
    out.push_back(method_named(name));
  }
  return out;
}

std::vector<ExclusionWay> ways_of(const TaskContext& context) {
  const std::string way = context.text("exclusions");
  if (way == "on_the_fly") return {ExclusionWay::on_the_fly};
  if (way == "afterwards") return {ExclusionWay::afterwards};
  return {ExclusionWay::on_the_fly, ExclusionWay::afterwards};
}

std::string name_of(ExclusionWay way) { return way == ExclusionWay::on_the_fly ? "on_the_fly" : "afterwards"; }

Json row_json(const ForceMeasurement& m, ExclusionWay way, bool timed) {
  const bool shifted =
      m.method == Method::nitadori_large || m.method == Method::narumi || m.method == Method::narumi_constant;
  return {{"method", letter_of(m.method)},
          {"arithmetic", description_of(m.method)},
          {"exclusions", name_of(way)},
          {"error", m.error},
          {"solute_error", known(m.solute_error.has_value(), m.solute_error.value_or(0))},
          {"largest_error", m.largest_error},
          {"offset", m.offset},
          {"energy", m.energy},
          {"accumulation_of_bound", known(m.accumulation.has_value(), m.accumulation.value_or(0))},
          {"large_shift", shifted ? Json(m.large_shift) : Json(nullptr)},
          {"seconds", known(timed, m.seconds)},
          {"pairs_per_second", known(timed, m.pairs_per_second)}};
}

/// Lines "forces,exclusions,particle,x,y,z"; `forces` is a method or "bonded".
class ForceLines {
 public:
  void add(const std::string& what, const std::string& way, const std::vector<double>& forces) {
    for (std::size_t i = 0; i < forces.size() / 3; ++i) {
      lines_ +=
          fmt::format("{},{},{},{},{},{}\n", what, way, i + 1, forces[3 * i], forces[3 * i + 1], forces[3 * i + 2]);
    }
  }
  const std::string& text() const { return lines_; }

 private:
  std::string lines_ = "forces,exclusions,particle,x,y,z\n";
};

constexpr const char* study_ways[] = {"on_the_fly", "afterwards", "both", nullptr};

const quadrille_parameter method = choice("method", nullptr, nullptr, method_letters.data());

}  // namespace

const quadrille_parameter forces_parameters[forces_parameter_count] = {
    required(group("system", "the particles", system_members, "source")),
    list("methods",
         "ways to sum the forces: A single in single, B in double, C Takahashi and Iitaka, D Nitadori, E modified "
         "Nitadori, F Narumi, F* with added constants instead of conversions, G double, int64 fixed point",
         "[A, B, C, D, E, F, G, int64]", method),
    choice("exclusions",
           "how excluded pairs are left out: masked on the fly, subtracted afterwards, or both, one after the other",
           "both", study_ways),
    coulomb_parameter,
    coulomb_constant_parameter,
    boolean("scaled_pairs", "include the scaled 1-4 interactions", "false"),
    real("cutoff",
         "of pair forces, in a periodic box with edges of at least twice the cutoff; 0: open space, no cutoff", "0",
         at_least(0)),
    dielectric_parameter,
    boolean("accumulation", "compare C and F with exact sums of the same terms (CPU only; slow for many particles)",
            "true"),
    integer("repeats", "timings of each method, with the methods taking turns; the shortest counts; 0: no timings", "3",
            within(0, 1000)),
    file_out("forces_csv", "the forces on every particle, by every method, and those of bonds, angles and torsions"),
    csv("md_forces.csv")};

void check_forces(const TaskContext& context) { check_system_parameters(context); }

void run_forces(const TaskContext& context) {
  check_forces(context);
  const System system = system_of(context);
  const Communicator& ranks = context.ranks();
  require_one_system(ranks, system, {});
  ForceStudyOptions options;
  options.forces = force_options_of(context);
  options.forces.backend = &find_backend(context.backend());
  options.forces.ranks = &ranks;
  options.methods = methods_of(context);
  options.repeats = int(context.integer("repeats"));
  options.accumulation = context.boolean("accumulation");
  Json rows = Json::array();
  ForceLines lines;
  const std::vector<ExclusionWay> all = ways_of(context);
  if (all.size() > 1 && system.exclusions.empty()) {
    log().info("{}: the system has no excluded pairs: `exclusions: both` does the same twice, on_the_fly is enough",
               context.task_name());
  }
  for (std::size_t n = 0; n < all.size(); ++n) {
    context.progress(name_of(all[n]), double(n) / double(all.size()));
    options.forces.exclusions = all[n];
    for (const ForceMeasurement& m : measure_forces(system, options)) {
      rows.push_back(row_json(m, all[n], options.repeats > 0));
      if (context.has("forces_csv")) lines.add(letter_of(m.method), name_of(all[n]), m.forces);
      const std::string speed = options.repeats > 0 ? fmt::format(", {:.3g} pairs per second", m.pairs_per_second) : "";
      log().info("{}: {} {}: error {:.2e}, offset {:.2e}{}", context.task_name(), letter_of(m.method), name_of(all[n]),
                 m.error, m.offset, speed);
    }
  }
  const BondedForces bonded = bonded_forces(system);
  if (context.has("forces_csv")) {
    lines.add("bonded", "", bonded.forces);
    const std::string file = context.output_file("forces_csv");
    on_first_rank(ranks, [&] { write_file(file, lines.text()); });
  }
  report_study(
      context, "pair_forces",
      {{"backend", context.backend()},
       {"threads", context.threads()},
       {"particles", system.size()},
       {"solute", system.solute},
       {"types", system.table.types},
       {"excluded_pairs", system.exclusions.size()},
       {"repeats", options.repeats},
       {"bonded_energies", {{"bonds", bonded.bonds}, {"angles", bonded.angles}, {"torsions", bonded.torsions}}}},
      rows);
}

}  // namespace quadrille::md
