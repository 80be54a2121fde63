// The files that a job writes into its output folder: where they go, that none replaces what must stay, and that all
// can be written.
#pragma once

#include "input/job/job.h"
#include "input/run/output_folder.h"

#include <filesystem>
#include <string>
#include <vector>

namespace quadrille {

/// The folder of a job file's outputs when none is named: a/job.out for a/job.yaml.
std::filesystem::path default_output_folder(const std::filesystem::path& job);

/// What the names of files in the output folder begin with that a task keeps until it is finished; and those of its
/// end, from which it is extended.
std::string unfinished_prefix(const TaskSpec& task);
std::string finished_prefix(const TaskSpec& task);

/// Names of the files that a task writes into the output folder: those of its parameters, or of its entry's `outputs`.
std::vector<std::string> output_names(const TaskSpec& task);

/// The files that a task reads.
std::vector<std::filesystem::path> input_files(const TaskSpec& task);

/// Appends to `errors` each output (with its place in the job) that would replace the job file, its gauge file,
/// results.json, restart.json or another output under whatever spelling, or that is a folder. Writes nothing.
void check_outputs(const Job& job, const std::filesystem::path& folder, std::vector<Error>& errors);

/// Why a task may not make a file of this name for a while, in words that follow the name: a file that check_outputs
/// keeps outputs from, or an output of any task of the job; empty when it may.
std::string problem_of_scratch(const Job& job, const std::filesystem::path& folder, const std::string& name);

/// Why a name does not lead to a file in the folder itself: an absolute path, one that leaves it by "..", or one with a
/// symbolic link on the way; empty when it does.
std::string why_outside(const std::filesystem::path& folder, const std::string& name);

/// One spelling for one file: links followed, "." and ".." gone, whether it exists or not.
std::filesystem::path one_spelling(const std::filesystem::path& path);
/// Of two such paths.
bool is_inside(const std::filesystem::path& path, const std::filesystem::path& folder);

/// The job file and all that the job reads, in one spelling.
std::vector<std::filesystem::path> inputs_of(const Job& job);

/// Appends to `errors` each output that the folder's rules refuse (OutputFolder::problem_of_output).
void check_outputs_in(const OutputFolder& folder, const Job& job, std::vector<Error>& errors);

/// Appends to `errors` each output that cannot be written (ErrorCode::file, the place in the job and the system's
/// reason), so that it is known before any work. Leaves nothing behind.
void probe_outputs(const Job& job, const std::filesystem::path& folder, std::vector<Error>& errors);

/// Removes the temporary files (see AtomicFile) that a killed run left beside the job's outputs and beside `others`,
/// files of the folder. Those of a process that still runs stay.
void remove_leftovers(const Job& job, const std::filesystem::path& folder, const std::vector<std::string>& others = {});

}  // namespace quadrille
