// What the results of several configurations have in common: means with errors.
#pragma once

#include "input/statistics/resampling.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille {

struct AverageRules {
  std::size_t bin = 1;  ///< configurations in a bin
  int bootstrap = 0;    ///< samples; 0: no bootstrap errors
  std::uint64_t seed = 1;
};

/// Whether a block of results.json has numbers of tasks that are averaged: those of modules, critical_masses.
bool is_averaged_block(const std::string& block);

/// `averages` of results.json: configurations, bin, bins, bootstrap {samples, seed}, plaquette, correlators, and, where
/// there are any, blocks: those of is_averaged_block() with each number, and each list of numbers as long in all
/// configurations, averaged; what is the same in all stays, what is null in some is averaged over the others. Each of
/// `results` is the results.json of one configuration, in the order of the chain; there is one at least.
///
/// Every list over t in `correlators`, at any depth, is replaced by its averages: over t - source_time, where there is
/// a source_time. An `effective_mass` is that of the averaged list beside it. A list that is null in some
/// configurations is averaged over the others; `configurations` says over how many.
nlohmann::ordered_json averages(const std::vector<nlohmann::ordered_json>& results, const AverageRules& rules);

/// The average of rows as it stands there: configurations, mean, error, bootstrap_error, tau_int and so on, lists as
/// long as a row.
nlohmann::ordered_json average_of_rows(const Measurements& rows, const AverageRules& rules);
/// {mean, error, bootstrap_error} of the effective mass of rows that are correlators from the source on, of an even
/// length.
nlohmann::ordered_json effective_mass_of_rows(const Measurements& rows, const AverageRules& rules);

/// A list over t in the correlators of results: its path, "mesons/pion", and a row for each configuration, of NaN where
/// it has none. t is absolute, as in the results.
struct CorrelatorRows {
  std::string path;
  int source_time = 0;
  Measurements rows;
};

/// All of them, in the order of the first results.
std::vector<CorrelatorRows> correlator_rows(const std::vector<nlohmann::ordered_json>& results);

}  // namespace quadrille
