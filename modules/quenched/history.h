// What a chain has seen, and what its job reports of it.
#pragma once

#include "modules/quenched/plan.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace quadrille::quenched {

/// What was seen after each sweep.
struct History {
  std::vector<double> plaquette, spatial, temporal, loop_re, loop_im;

  void add(const PureGauge& gauge);
  std::vector<double> loop_magnitude() const;
};

/// The block of results.json: means with errors and autocorrelation times over the sweeps after the thermalization, and
/// how often the heatbath accepted. Warns of what is too short for an error.
nlohmann::ordered_json report(const TaskContext& context, const History& history, const HeatbathCounts& counts,
                              const Plan& plan);

/// Every sweep's values.
nlohmann::ordered_json history_json(const History& history, const Plan& plan);

}  // namespace quadrille::quenched
