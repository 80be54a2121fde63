#include "core/error.h"
#include "solvers/multigrid/dense_kernels.h"
#include "solvers/multigrid/multigrid.h"
#include "solvers/parameter_ranges.h"

#include <fmt/format.h>

namespace quadrille {

std::vector<Parameter> multigrid_parameters() {
  Parameter levels = count("levels", 4, "", "lattices, the finest one included; by default as many as it takes");
  levels.minimum = 2;
  levels.default_text.reset();
  Parameter blocks;
  blocks.name = "blocks";
  blocks.type = ParameterType::integer4;
  blocks.help =
      "sites of the finest lattice in a site of the next, in each direction; the nearest that divide the lattice";
  blocks.default_text = "[4, 4, 4, 4]";
  Parameter rounds = count("setup_cycles", 20, "1", "rounds in which the test vectors go through the cycle so far");
  rounds.minimum = 0;
  Parameter fallback;
  fallback.name = "fallback";
  fallback.type = ParameterType::choice;
  fallback.help = "where multigrid does not work: go on with BiCGstab, or end with an error";
  fallback.default_text = "bicgstab";
  fallback.choices = {"bicgstab", "none"};
  return {
      levels,
      count("vectors", 64, "16", "test vectors of each level, a multiple of 8"),
      blocks,
      count("smoothing_steps", 100, "4", "steps of MR after each coarse correction"),
      between("coarse_tolerance", 0, 1, "0.2", "relative residual at which the solve of a coarse level ends"),
      count("coarse_iterations", 1000, "24", "or iterations of GCR after which it does"),
      count("setup_iterations", 10000, "60", "iterations of BiCGstab from which a test vector is made"),
      rounds,
      count("restart_length", 1000, "16", "directions that the outer GCR keeps"),
      fallback,
  };
}

MultigridSettings multigrid_settings(const Parameters& own) {
  MultigridSettings settings;
  if (own.items().empty()) return settings;
  if (own.has("levels")) settings.levels = int(own.integer("levels"));
  settings.vectors = int(own.integer("vectors"));
  settings.blocks = own.integer4("blocks");
  settings.cycle.smoothing_steps = int(own.integer("smoothing_steps"));
  settings.cycle.coarse_tolerance = own.real("coarse_tolerance");
  settings.cycle.coarse_directions = int(own.integer("coarse_iterations"));
  settings.setup_iterations = int(own.integer("setup_iterations"));
  settings.setup_cycles = int(own.integer("setup_cycles"));
  settings.restart_length = int(own.integer("restart_length"));
  settings.falls_back = own.text("fallback") == "bicgstab";
  if (settings.vectors % multigrid::row_unit != 0) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("vectors is {} and must be a multiple of {}", settings.vectors, multigrid::row_unit),
                own.where("vectors"));
  }
  for (const int extent : settings.blocks) {
    if (extent < 1) {
      throw Error(ErrorCode::invalid_input, fmt::format("blocks have extents of at least 1, not {}", extent),
                  own.where("blocks"));
    }
  }
  return settings;
}

}  // namespace quadrille
