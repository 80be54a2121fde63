#include "input/ensemble/parts.h"

#include "input/job/blocks.h"
#include "input/run/outputs.h"

#include <algorithm>
#include <string_view>
#include <utility>

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

constexpr std::string_view name_place = "{name}";

Parameters with_name(const Parameters& block, const std::string& name);

/// The same with the name of a configuration in the place of {name} in names of input files.
Parameters::Item with_name(Parameters::Item item, const std::string& name) {
  if (auto* const file = std::get_if<std::string>(&item.scalar);
      file != nullptr && item.type == ParameterType::file_in) {
    for (std::size_t at = 0; (at = file->find(name_place, at)) != file->npos; at += name.size())
      file->replace(at, name_place.size(), name);
  }
  if (item.group) item.group = std::make_shared<const Parameters>(with_name(*item.group, name));
  for (Parameters::Item& entry : item.list) entry = with_name(std::move(entry), name);
  return item;
}

Parameters with_name(const Parameters& block, const std::string& name) {
  Parameters out = block;
  for (const auto& [key, item] : block.items()) out = out.replaced(key, key, with_name(item, name));
  return out;
}

bool has_name(const TaskSpec& task) {
  const std::vector<std::filesystem::path> files = input_files(task);
  return std::any_of(files.begin(), files.end(),
                     [](const std::filesystem::path& file) { return names_configuration(file.string()); });
}

}  // namespace

bool names_configuration(const std::string& file) { return file.find(name_place) != file.npos; }

bool reads_by_name(const Job& job) { return std::any_of(job.run.begin(), job.run.end(), has_name); }

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
    if (has_name(task))
      task.parameters = std::make_shared<const Parameters>(with_name(*task.parameters, configuration.name));
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
