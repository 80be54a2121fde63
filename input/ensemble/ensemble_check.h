// What can be found wrong with a job on several configurations before it runs.
#pragma once

#include "input/ensemble/configurations.h"
#include "input/job/rank_grid.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// The HDF5 file of all correlators, and the folder of the folders of configurations, in the output folder.
inline constexpr const char* correlator_file_name = "correlators.h5";
inline constexpr const char* configurations_folder = "configurations";

enum class BrokenFiles { are_errors, are_left_out };

/// As check_outputs() and check_inputs() of a job on one configuration, of all its parts; `configurations` are those of
/// list_configurations(). Also appends to `errors`: files of different extents (with `are_left_out` these, and files
/// that are no gauge fields, are errors only when no file is good); tasks that use tasks of the generation; outputs
/// that do not stay in the folder of their configuration, or that are in the way of the program's own.
void check_ensemble(const Job& job, const std::vector<Configuration>& configurations,
                    const std::filesystem::path& place, BrokenFiles broken, std::vector<Error>& errors,
                    const RankGrid& ranks = {});

/// Extents of the ensemble: those of the first file that is a gauge field, or those of the chain. Nothing without any.
std::optional<Dims> ensemble_dims(const Job& job, const std::vector<Configuration>& configurations);

/// Why this is no configuration of an ensemble whose extents are `wanted`; empty when it is one.
std::string extents_problem(const Dims& found, const Dims& wanted);

}  // namespace quadrille
