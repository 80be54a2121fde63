#include "input/ensemble/ensemble_check.h"

#include "input/ensemble/fits.h"
#include "input/ensemble/parts.h"
#include "input/files/gauge_file.h"
#include "input/job/gauge.h"
#include "input/run/outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

struct GoodFile {
  Dims dims;
  const Configuration* configuration;
};

/// The first good file. Appends what is wrong with the others.
std::optional<GoodFile> check_files(const Job& job, const std::vector<Configuration>& configurations,
                                    std::vector<Error>& errors) {
  std::optional<GoodFile> first;
  for (const Configuration& one : configurations) {
    const fs::path file = job.input_path(one.file);
    try {
      const Dims dims = gauge_file_info(file.string()).dims;
      if (!first) {
        first = {dims, &one};
        continue;
      }
      const std::string problem = extents_problem(dims, first->dims);
      if (!problem.empty()) throw Error(ErrorCode::invalid_input, problem, {.file = file.string()});
    } catch (const Error& error) {
      errors.emplace_back(error.code(),
                          fmt::format("'gauge.files': {}{}", error.what(), origin_of_missing(file, one.where)),
                          one.where);
    }
  }
  return first;
}

/// Those that tasks read, where each configuration has its own; up to the first configuration with errors.
void check_files_by_name(const Job& job, const std::vector<Configuration>& configurations, const Dims& dims,
                         std::vector<Error>& errors) {
  if (!reads_by_name(job)) return;
  for (const Configuration& one : configurations) {
    if (errors.empty()) check_tasks(measuring_part(job, one), dims, errors);
  }
}

struct NamedOutput {
  std::string name;
  Location where;
};

std::vector<NamedOutput> outputs_of(const Job& part) {
  std::vector<NamedOutput> out;
  if (part.gauge && part.gauge->has("save")) {
    const Parameters& save = part.gauge->group("save");
    out.push_back({save.text("file"), save.where("file")});
  }
  for (const TaskSpec& task : part.run) {
    for (const std::string& name : output_names(task)) out.push_back({name, task.parameters->where()});
  }
  return out;
}

/// Every configuration has a folder for its outputs: a name that leads out of it would be one file of them all.
void check_stays_inside(const Job& part, const fs::path& folder, std::vector<Error>& errors) {
  for (const NamedOutput& output : outputs_of(part)) {
    const std::string problem = why_outside(folder, output.name);
    if (problem.empty()) continue;
    errors.emplace_back(ErrorCode::invalid_input,
                        fmt::format("'{}' would be written by every configuration: each has its own folder, and {}",
                                    output.name, problem),
                        output.where);
  }
}

void check_references(const Job& job, const Job& part, std::vector<Error>& errors) {
  for (const TaskSpec& task : part.run) {
    for (const std::string& used : task.uses) {
      const auto same = [&](const TaskSpec& other) { return other.name == used; };
      if (std::any_of(part.run.begin(), part.run.end(), same)) continue;
      errors.emplace_back(
          ErrorCode::invalid_input,
          fmt::format("the task {} works on each configuration that {} makes, and uses {}, which comes before that and "
                      "is done once: put {} after {}",
                      task.name, job.ensemble->text("from"), used, used, job.ensemble->text("from")),
          task.parameters->where());
    }
  }
}

/// Outputs of the generation lie beside what the program writes itself.
void check_beside(const Job& part, const fs::path& place, std::vector<Error>& errors) {
  const fs::path file = one_spelling(place / correlator_file_name);
  const fs::path folder = one_spelling(place / configurations_folder);
  for (const NamedOutput& output : outputs_of(part)) {
    const fs::path path = one_spelling(place / output.name);
    if (path != file && path != folder && !is_inside(path, folder)) continue;
    errors.emplace_back(ErrorCode::invalid_input,
                        fmt::format("'{}' is in the way of {} and {}/, which hold the results of the configurations; "
                                    "choose another name",
                                    output.name, correlator_file_name, configurations_folder),
                        output.where);
  }
}

void check_generation(const Job& job, const fs::path& place, std::vector<Error>& errors, const RankGrid& ranks) {
  const Job part = generating_part(job);
  check_outputs(part, place, errors);
  check_beside(part, place, errors);
  if (errors.empty()) check_inputs(job, errors, ranks);  // the tasks after it too: on the same extents
}

}  // namespace

std::optional<Dims> ensemble_dims(const Job& job, const std::vector<Configuration>& configurations) {
  if (job.ensemble->has("from")) return gauge_dims(job);
  std::vector<Error> ignored;
  const std::optional<GoodFile> good = check_files(job, configurations, ignored);
  return good ? std::optional(good->dims) : std::nullopt;
}

std::string extents_problem(const Dims& found, const Dims& wanted) {
  if (found == wanted) return {};
  return fmt::format("a lattice of {}, but the first configuration has {}: all must have the same extents",
                     fmt::join(found, " x "), fmt::join(wanted, " x "));
}

void check_ensemble(const Job& job, const std::vector<Configuration>& configurations, const fs::path& place,
                    BrokenFiles broken, std::vector<Error>& errors, const RankGrid& ranks) {
  const bool makes = job.ensemble->has("from");
  if (makes) check_generation(job, place, errors, ranks);
  if (configurations.empty() || !errors.empty()) return;
  const Job part = measuring_part(job, configurations.front());
  const fs::path folder = place / folder_of(configurations.front());
  check_outputs(part, folder, errors);
  check_stays_inside(part, folder, errors);
  check_references(job, part, errors);
  if (makes) {
    if (errors.empty()) check_fits(job, gauge_dims(job)[3], configurations.size(), errors);
    return;
  }
  std::vector<Error> of_files;
  const std::optional<GoodFile> good = check_files(job, configurations, of_files);
  if (broken == BrokenFiles::are_errors || !good) errors.insert(errors.end(), of_files.begin(), of_files.end());
  if (!good) return;
  const Job on_good = measuring_part(job, *good->configuration);
  (void)check_gauge(on_good, errors, ranks);
  check_tasks(on_good, good->dims, errors);
  if (broken == BrokenFiles::are_errors && errors.empty()) check_files_by_name(job, configurations, good->dims, errors);
  check_fits(job, good->dims[3], configurations.size(), errors);
}

}  // namespace quadrille
