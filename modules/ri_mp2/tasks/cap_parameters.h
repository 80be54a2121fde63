// The parameters `memory_cap` and `scratch` of the tasks of ri_mp2: the memory that B passes through, and where it is
// meanwhile.
#pragma once

#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"

#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>
#include <string>

namespace quadrille::ri_mp2 {

constexpr quadrille_parameter memory_cap_parameter = parameter::integer(
    "memory_cap",
    "memory for steps 3 and 4, (ia|P), B and the integrals, of a GPU or of the host; where it is less than they take, "
    "blocks of B pass through: from `scratch`, or for a GPU from the host's memory; 0: what is free",
    "0", parameter::within(0, 1 << 30), "MiB");
constexpr quadrille_parameter scratch_parameter = parameter::text(
    "scratch",
    "on a CPU, the folder for B that does not fit into memory, absolute, or in the output folder: a file without a "
    "name, which is gone when the task ends",
    ".");

/// A folder that is there or can be made: one in the output folder, which the run makes, or an absolute one.
inline void check_scratch(const TaskContext& context) {
  namespace fs = std::filesystem;
  fs::path place = context.text("scratch");
  if (!place.is_absolute()) {
    const fs::path spelled = place.lexically_normal();
    if (spelled.empty() || *spelled.begin() != "..") return;
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("'{}' is not in the output folder: give an absolute path", place.string()),
                      "scratch");
  }
  std::error_code ignored;
  while (!fs::exists(place, ignored) && place.has_relative_path()) place = place.parent_path();
  if (fs::is_directory(place, ignored) && ::access(place.c_str(), W_OK | X_OK) == 0) return;
  TaskContext::fail(QUADRILLE_FILE_ERROR,
                    fmt::format("{} is not a folder that can be written to: choose another", place.string()),
                    "scratch");
}

/// The path of the task's scratch file; its folder is made.
inline std::string scratch_of(const TaskContext& context) {
  return context.scratch_file(std::filesystem::path(context.text("scratch")) / (context.task_name() + ".scratch"));
}

}  // namespace quadrille::ri_mp2
