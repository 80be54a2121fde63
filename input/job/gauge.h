// The gauge field of a job: read or made, measured, saved.
#pragma once

#include "core/gauge/gauge_store.h"
#include "core/layout/lattice.h"
#include "input/files/gauge_file.h"
#include "input/job/job.h"
#include "input/job/rank_grid.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace quadrille {

struct LoadedGauge {
  std::shared_ptr<const Lattice> lattice;
  std::shared_ptr<const GaugeStore> links;  ///< null as the lattice is in a job without a gauge field
  double plaquette = 0;
  /// `gauge` of results.json: file (null for a start), format, checksum, plaquette, planes, link_trace, unitarity.
  nlohmann::ordered_json report;
  LinkOrigin origin;     ///< what their file says; of a start, what it is
  std::string checksum;  ///< of the links as they stand here, in 64 bits: part of what decides every result
  std::vector<std::string> warnings;
};

/// Reads or makes the links that `job.gauge` asks for, on the backend that will work with them, divided over the ranks.
/// Errors: those of read_gauge_file, check_links and choose_grid.
LoadedGauge load_gauge(const Job& job, Backend& backend, const RankGrid& ranks = {});

/// Throws ErrorCode::numerical, naming the first link that is not finite, of links whose distance from SU(3) is
/// `found`.
void demand_finite(const Unitarity& found, const Dims& dims);

/// Links that somebody else has made or read, measured; `format` says what they are in the report. Errors: those of
/// demand_finite.
LoadedGauge held_gauge(std::shared_ptr<const Lattice> lattice, std::shared_ptr<const GaugeStore> links,
                       const std::string& format);

/// The same as JSON, numbers as numbers.
nlohmann::ordered_json origin_json(const LinkOrigin& origin);

/// Extents that the job's gauge block stands for, from its file's records where it names one.
/// Errors: those of gauge_file_info.
Dims gauge_dims(const Job& job);

}  // namespace quadrille
