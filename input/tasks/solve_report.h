// One solve as results.json shows it.
#pragma once

#include "core/tuning/kernel_log.h"
#include "solvers/driver.h"
#include "solvers/registry.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

struct SolveLabel {
  std::string task;
  int spin = 0;
  int color = 0;
  double mass = 0;
  double kappa = 0;
  EvenOddForm preconditioning{};  ///< not automatic
  int at_once = 1;                ///< solves of which this was one; kernels are those of all
};

/// An entry of `solves`. Residuals are relative to |b|; a history entry is [iteration, iterated, true or null].
nlohmann::ordered_json solve_json(const SolveLabel& label, const SolverSpec& spec, const SolveReport& report,
                                  const std::vector<KernelRecord>& kernels);

}  // namespace quadrille
