#include "modules/md/system/system_parameters.h"

#include "core/comm/agreement.h"
#include "modules/md/system/system_files.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::md {
namespace {

Chains chains_of(const TaskContext& context) {
  return {context.integer("system.particles"), context.integer("system.length"), context.real("system.density")};
}

System particles_of(const TaskContext& context) {
  const std::string source = context.text("system.source");
  if (source == "amber")
    return read_amber(context.input_file("system.topology"), context.input_file("system.coordinates"));
  if (source == "lammps") {
    return read_lammps(context.input_file("system.data"),
                       context.text("system.mixing") == "geometric" ? Mixing::geometric : Mixing::lorentz_berthelot);
  }
  const std::int64_t count = context.integer("system.particles");
  const double density = context.real("system.density");
  if (source == "fcc") return fcc_system(count, density);
  const auto types = int(context.integer("system.types"));
  const auto seed = std::uint64_t(context.integer("system.seed"));
  const double disorder = context.real("system.disorder");
  if (source == "chains") return chain_system(chains_of(context), types, disorder, seed);
  return random_system(count, types, density, disorder, seed);
}

/// The shortest edge of the box of generated particles.
double shortest_edge(const TaskContext& context, const std::string& source) {
  const std::int64_t count = context.integer("system.particles");
  const double density = context.real("system.density");
  if (source == "fcc") return fcc_edge(count, density);
  if (source == "random") return random_edge(count, density);
  return std::ranges::min(chain_box(chains_of(context)));
}

/// What files say is known only when they are read; of generated particles all is known.
void check_generated(const TaskContext& context, const std::string& source) {
  const double cutoff = context.real("cutoff");
  double edge = 0;
  try {
    edge = shortest_edge(context, source);
  } catch (const Error& error) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, error.message(), "system.particles");
  }
  if (context.text("coulomb") != "none") {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("particles of the source {} have no charges; those of amber and lammps have", source),
                      "coulomb");
  }
  if (2 * cutoff > edge) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("the box has edges of {:g}, which must be at least twice the cutoff, {:g}: use more "
                                  "particles or a smaller cutoff",
                                  edge, 2 * cutoff),
                      "cutoff");
  }
}

}  // namespace

void check_system_parameters(const TaskContext& context) {
  const std::string chosen = context.text("system.source");
  const auto demand = [&](const char* source, const char* name) {
    if (chosen == source && !context.has(name)) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("the source {} needs this file", source), name);
    }
  };
  demand("amber", "system.topology");
  demand("amber", "system.coordinates");
  demand("lammps", "system.data");
  if (context.text("coulomb") == "reaction_field" && context.real("cutoff") == 0) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "a reaction field needs a `cutoff`", "coulomb");
  }
  if (chosen == "fcc" || chosen == "random" || chosen == "chains") check_generated(context, chosen);
}

System system_of(const TaskContext& context) {
  System system = particles_of(context);
  if (context.has("coulomb_constant")) system.coulomb_constant = context.real("coulomb_constant");
  if (!context.boolean("scaled_pairs")) system.scaled_pairs.clear();
  return system;
}

void require_one_system(const Communicator& ranks, const System& system, std::span<const double> velocities) {
  std::string mine;
  const auto add = [&](const auto& values) {
    mine.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  add(system.types);
  for (const auto* values : {&system.positions, &system.charges, &system.masses}) add(*values);
  add(velocities);
  require_same(ranks, mine, [](const std::string&) {
    return Error(ErrorCode::file,
                 "this rank has other particles than rank 0: all ranks must read the same files, on CPUs of one kind");
  });
}

ForceOptions force_options_of(const TaskContext& context) {
  ForceOptions options;
  options.coulomb = value_of(coulomb_names, context.text("coulomb"), "coulomb");
  options.cutoff = context.real("cutoff");
  options.dielectric = context.real("dielectric");
  return options;
}

}  // namespace quadrille::md
