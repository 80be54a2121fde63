// results.json of a job on several configurations.
#pragma once

#include "input/ensemble/configurations.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

/// What became of a configuration.
struct ConfigurationState {
  enum class State { open, done, failed };
  State state = State::open;
  std::string error;               ///< of a failed one
  nlohmann::ordered_json results;  ///< of one that is done: what averages and reports need of its results.json
};

/// What is kept of the results.json of a configuration: blocks that are averaged, correlators, gauge, lattice,
/// warnings, timing, and of its solves for each task their number, iterations (mean), the largest residual, and whether
/// all converged.
nlohmann::ordered_json kept_results(const nlohmann::ordered_json& results);

/// The results.json of those that are done.
std::vector<nlohmann::ordered_json> done_results(const std::vector<ConfigurationState>& states);

/// `configurations`, `averages`, `fits` and `correlator_file` (where there are correlators) of results.json, `warnings`
/// and `lattice`, put into `out`, which may have warnings already.
void add_configurations(const Job& job, const std::vector<Configuration>& configurations,
                        const std::vector<ConfigurationState>& states, nlohmann::ordered_json& out);

/// Seconds of the phases of `timing`, with those of the configurations added. The total stays.
nlohmann::ordered_json with_configurations(nlohmann::ordered_json timing,
                                           const std::vector<ConfigurationState>& states);

}  // namespace quadrille
