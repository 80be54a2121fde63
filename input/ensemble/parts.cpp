#include "input/ensemble/parts.h"

#include "input/job/blocks.h"

#include <algorithm>

namespace quadrille {

namespace {

/// The first task on the configurations.
std::vector<TaskSpec>::const_iterator first_measuring(const Job& job) {
  if (!job.ensemble->has("from")) return job.run.begin();
  const std::string& from = job.ensemble->text("from");
  return std::find_if(job.run.begin(), job.run.end(), [&](const TaskSpec& task) { return task.name == from; }) + 1;
}

BlockPtr gauge_of(const Job& job, const Configuration& configuration) {
  const Location& where = configuration.where;
  if (!job.ensemble->has("from")) {
    Parameters::Item file;
    file.type = ParameterType::file_in;
    file.given = true;
    file.where = where;
    file.scalar = configuration.file;
    return std::make_shared<const Parameters>(job.gauge->replaced("files", "file", file));
  }
  const Value name{Value::Scalar{configuration.file, true}, where};
  std::vector<Error> errors;
  return resolve_variant(gauge_block(), {Value::Map{{"file", where, name}}, where}, errors);
}

}  // namespace

Job generating_part(const Job& job) {
  Job part = job;
  part.ensemble = nullptr;
  part.run.assign(job.run.begin(), first_measuring(job));
  return part;
}

Job measuring_part(const Job& job, const Configuration& configuration) {
  Job part = job;
  part.ensemble = nullptr;
  part.gauge = gauge_of(job, configuration);
  part.run.assign(first_measuring(job), job.run.end());
  const std::string from = job.ensemble->has("from") ? job.ensemble->text("from") : "";
  for (TaskSpec& task : part.run) {
    task.gauge = part.gauge;
    if (task.links_from == from) task.links_from.clear();
  }
  return part;
}

nlohmann::ordered_json ensemble_identity(const Job& job) {
  nlohmann::ordered_json out = job_json(job);
  out.erase("ensemble");
  out["gauge"].erase("files");
  return out;
}

}  // namespace quadrille
