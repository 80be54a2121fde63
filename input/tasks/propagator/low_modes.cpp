#include "input/tasks/propagator/low_modes.h"

#include "core/system/log.h"
#include "input/files/lattice_data.h"
#include "input/files/low_modes_file.h"
#include "input/job/blocks.h"
#include "input/job/document.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/run/json_changes.h"
#include "solvers/deflation/deflation_space.h"

#include <fmt/format.h>

#include <filesystem>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

std::string path_of(const TaskSpec& task) {
  return (task.job_folder / task.parameters->group("low_modes").text("file")).string();
}

bool names(const TaskSpec& task, const char* file) {
  return task.parameters->has("low_modes") && task.parameters->group("low_modes").has(file);
}

bool deflates(const Parameters& solver) {
  return solver.has("deflation") && solver.group("deflation").integer("vectors") > 0;
}

/// What low modes depend on.
Json origin_of(const JobRun& job, const TaskSpec& task) {
  return {{"operator", to_json(*task.op)},
          {"preconditioning", to_json(task.solver->group("preconditioning"))},
          {"links", job.gauge().checksum}};
}

void check_file(const std::string& path, const Dims& dims) {
  const LimeInput file(path);
  const LowModesHeader header = locate_low_modes(file);
  if (header.dims == dims) return;
  throw Error(ErrorCode::file, fmt::format("{}: these low modes are on a {} lattice, not on one of {}", path,
                                           extents_text(header.dims), extents_text(dims)));
}

}  // namespace

void check_low_modes(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  if (!task.parameters->has("low_modes")) return;
  const Parameters& group = task.parameters->group("low_modes");
  if (!deflates(*task.solver)) {
    errors.emplace_back(ErrorCode::invalid_input,
                        "'low_modes' are those of a solver with deflation: {type: cg, deflation: {vectors: 64}}",
                        group.where());
  }
  if (!group.has("file")) return;
  try {
    check_file(path_of(task), dims);
  } catch (const Error& error) {
    errors.emplace_back(
        error.code(),
        fmt::format("'low_modes.file': {}{}", error.what(), origin_of_missing(path_of(task), group.where("file"))),
        group.where("file"));
  }
}

void read_low_modes(JobRun& job, const TaskSpec& task, DeflationSpace& space) {
  if (!names(task, "file") || space.size() > 0) return;
  const JobClock::Span reading = job.count(Phase::read);
  const LimeInput file(path_of(task));
  const LowModesHeader header = locate_low_modes(file);
  if (const std::string other = first_difference(header.origin, origin_of(job, task)); !other.empty()) {
    job.warn(fmt::format("{} has low modes of another system, which gain less: {}", file.path(), other));
  }
  read_low_modes(file, space.field_desc(), space.most(), [&](const Field& mode) { space.add(mode); });
  log().info("{}: deflation begins with {} vectors of {}", task.name, space.size(), file.path());
}

void leave_low_modes(JobRun& job, const TaskSpec& task, std::shared_ptr<DeflationSpace> space) {
  if (!space) return;
  log().info("{}: the deflation space has {} of {} vectors", task.name, space->size(), space->most());
  if (names(task, "save") && space->size() > 0) {
    const JobClock::Span writing = job.count(Phase::write);
    const std::string& file = task.parameters->group("low_modes").text("save");
    write_low_modes_file(job.folder().output(file).string(), space->modes(), origin_of(job, task));
    job.folder().wrote(file);
    job.record().files.push_back(file);
  }
  job.keep_low_modes(task, std::move(space));
}

Parameter low_modes_group() {
  Parameter group;
  group.name = "low_modes";
  group.type = ParameterType::group;
  group.help = "files of the low modes with which `solver.deflation` works; tasks of one job share them without";
  group.members = {{.name = "file",
                    .type = ParameterType::file_in,
                    .help = "low modes that another job has saved, for the solves to begin with"},
                   {.name = "save",
                    .type = ParameterType::file_out,
                    .help = "name of a file for those that the solver has when the task is done"}};
  return group;
}

}  // namespace quadrille
