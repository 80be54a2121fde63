// The configurations that a job works on one after the other.
#pragma once

#include "input/job/job.h"

#include <filesystem>
#include <string>
#include <vector>

namespace quadrille {

struct Configuration {
  std::string name;  ///< of its folder, no other's: that of its file, with a hash of the path where two files share it
  std::string file;  ///< as `gauge.file` of the job would name it
  Location where;    ///< in the job
};

/// Whether `a` comes before `b` in natural order: rows of digits compare as numbers, "b_9.lime" < "b_10.lime".
bool natural_less(const std::string& a, const std::string& b);

/// Those of `gauge.files`, in the order of the list, where a pattern (*, ?, [...]) stands for the files that match it
/// in natural order; or those that the task `ensemble.from` saves into the output folder `place`, in the order in which
/// it makes them. Appends to `errors`, with its place in the job: a pattern that matches no file; a file that is named
/// twice, under whatever spelling; a task that saves nothing. A name without a pattern may be that of a missing file.
std::vector<Configuration> list_configurations(const Job& job, const std::filesystem::path& place,
                                               std::vector<Error>& errors);

/// Where the results of a configuration go, relative to the output folder: "configurations/NAME".
std::string folder_of(const Configuration& configuration);

}  // namespace quadrille
