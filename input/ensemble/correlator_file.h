// The correlators of all configurations in one HDF5 file.
#pragma once

#include "input/ensemble/averages.h"

#include <string>
#include <vector>

namespace quadrille {

/// Writes the file whole or not at all: a dataset "TASK/pion" for each list over t, of [configuration][t] with t
/// absolute, NaN where a configuration has no value, with the attributes source_time, indices and units; the datasets
/// `configurations` (names) and `files` say which configuration each first index is. Errors: ErrorCode::file.
void write_correlator_file(const std::string& path, const std::vector<CorrelatorRows>& correlators,
                           const std::vector<std::string>& names, const std::vector<std::string>& files);

}  // namespace quadrille
