#include "input/run/outputs.h"

#include "core/system/atomic_file.h"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <set>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string file;  ///< as the job spells it
  Location where;
};

void collect(const Parameters& parameters, ParameterType type, std::vector<NamedFile>& found);

void collect(const Parameters::Item& item, ParameterType type, std::vector<NamedFile>& found) {
  if (item.group) collect(*item.group, type, found);
  for (const Parameters::Item& entry : item.list) collect(entry, type, found);
  if (item.type == type) found.push_back({std::get<std::string>(item.scalar), item.where});
}

void collect(const Parameters& parameters, ParameterType type, std::vector<NamedFile>& found) {
  for (const auto& [name, item] : parameters.items()) collect(item, type, found);
}

/// The files that parameters of a type name: file_in or file_out.
std::vector<NamedFile> files_of(const Job& job, ParameterType type) {
  std::vector<NamedFile> found;
  if (job.gauge) collect(*job.gauge, type, found);
  for (const TaskSpec& task : job.run) collect(*task.parameters, type, found);
  return found;
}

std::vector<NamedFile> outputs_of(const TaskSpec& task) {
  std::vector<NamedFile> found;
  collect(*task.parameters, ParameterType::file_out, found);
  if (!task.entry->outputs || found.empty()) return found;
  const Location where = found.back().where;
  found.clear();
  for (std::string& name : task.entry->outputs(task)) found.push_back({std::move(name), where});
  return found;
}

std::vector<NamedFile> outputs_of(const Job& job) {
  std::vector<NamedFile> found;
  if (job.gauge) collect(*job.gauge, ParameterType::file_out, found);
  for (const TaskSpec& task : job.run) {
    for (NamedFile& output : outputs_of(task)) found.push_back(std::move(output));
  }
  return found;
}

/// Where the file would be made: its folder, or the nearest one above that exists. A link to what is not there is none.
fs::path nearest_place(const fs::path& target) {
  fs::path place = target.parent_path();
  std::error_code ignored;
  while (place.has_relative_path() && fs::symlink_status(place, ignored).type() == fs::file_type::not_found) {
    place = place.parent_path();
  }
  return place;
}

/// Whether a file of this name may be one of those that tasks keep to be continued.
bool is_unfinished(const Job& job, const std::string& name) {
  return std::any_of(job.run.begin(), job.run.end(), [&](const TaskSpec& task) {
    return name.starts_with(unfinished_prefix(task)) || name.starts_with(finished_prefix(task));
  });
}

/// Paths that no file of a task may take, and why. They are ordered by their parts: what lies in a folder follows it.
std::map<fs::path, std::string> reserved_paths(const Job& job, const fs::path& folder) {
  const fs::path results = one_spelling(folder / "results.json");
  std::map<fs::path, std::string> taken = {
      {results, "holds the results"},
      {one_spelling(folder / "restart.json"), "is needed to continue an interrupted run"},
      {results.parent_path() / ".lock", "is the lock of the output folder"},
  };
  for (const NamedFile& name : files_of(job, ParameterType::file_in)) {
    const fs::path input = job.input_path(name.file);
    taken[one_spelling(input)] = fmt::format("is the input {}", input.string());
  }
  taken[one_spelling(job.file)] = fmt::format("is the job file {}", job.file.string());
  return taken;
}

constexpr const char* reserved_reason = "is reserved for files that continue an interrupted run";

bool is_reserved(const Job& job, const fs::path& folder, const fs::path& path) {
  return path.parent_path() == one_spelling(folder / "results.json").parent_path() &&
         is_unfinished(job, path.filename().string());
}

/// NAME of ".NAME.PROCESS.NUMBER.part" of a process that is no more; empty for any other name.
std::string name_of_leftover(const std::string& file) {
  const std::string end = ".part";
  if (!file.starts_with('.') || !file.ends_with(end)) return {};
  const std::string_view stem = std::string_view(file).substr(0, file.size() - end.size());
  const std::size_t number_dot = stem.rfind('.');
  if (number_dot == 0 || number_dot == stem.npos) return {};
  const std::size_t process_dot = stem.rfind('.', number_dot - 1);
  if (process_dot == 0 || process_dot == stem.npos) return {};
  const auto whole = [&](std::size_t first, std::size_t last, auto& value) {
    const auto read = std::from_chars(stem.data() + first, stem.data() + last, value);
    return read.ec == std::errc() && read.ptr == stem.data() + last;
  };
  pid_t process = 0;
  int number = 0;
  if (!whole(process_dot + 1, number_dot, process) || !whole(number_dot + 1, stem.size(), number)) return {};
  if (process <= 0 || ::kill(process, 0) == 0 || errno != ESRCH) return {};
  return std::string(stem.substr(1, process_dot - 1));
}

}  // namespace

fs::path default_output_folder(const fs::path& job) {
  fs::path folder = job;
  const std::string ending = folder.extension().string();
  if (ending == ".yaml" || ending == ".yml") folder.replace_extension();
  folder += ".out";
  return folder;
}

fs::path one_spelling(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  fs::path out = fs::weakly_canonical(end_of_links(whole.string()), failed);
  return failed ? whole.lexically_normal() : out;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && rest != path.end();
}

std::string why_outside(const fs::path& folder, const std::string& name) {
  const fs::path path = name;
  if (path.is_absolute()) return "an output must be in the output folder, and this path is absolute";
  fs::path place = folder;
  int depth = 0;
  for (const fs::path& part : path) {  // not shortened: link/.. is not where it seems to be
    depth += part == ".." ? -1 : part == "." ? 0 : 1;
    if (depth < 0) return "an output must be in the output folder, and this path leaves it";
    place /= part;
    std::error_code ignored;
    if (fs::is_symlink(place, ignored)) {
      return fmt::format("an output must be in the output folder, and {} is a symbolic link", place.string());
    }
  }
  return {};
}

std::vector<fs::path> inputs_of(const Job& job) {
  std::vector<fs::path> inputs = {one_spelling(job.file)};
  for (const NamedFile& name : files_of(job, ParameterType::file_in)) {
    inputs.push_back(one_spelling(job.input_path(name.file)));
  }
  return inputs;
}

void check_outputs_in(const OutputFolder& folder, const Job& job, std::vector<Error>& errors) {
  for (const NamedFile& output : outputs_of(job)) {
    const std::string problem = folder.problem_of_output(output.file);
    if (problem.empty()) continue;
    errors.emplace_back(ErrorCode::file, fmt::format("'{}': {}", folder.path(output.file).string(), problem),
                        output.where);
  }
}

std::string unfinished_prefix(const TaskSpec& task) { return task.name + ".unfinished."; }

std::string finished_prefix(const TaskSpec& task) { return task.name + ".finished."; }

std::vector<std::string> output_names(const TaskSpec& task) {
  std::vector<std::string> names;
  for (NamedFile& output : outputs_of(task)) names.push_back(std::move(output.file));
  return names;
}

std::vector<fs::path> input_files(const TaskSpec& task) {
  std::vector<NamedFile> names;
  collect(*task.parameters, ParameterType::file_in, names);
  std::vector<fs::path> files;
  for (const NamedFile& name : names) files.push_back(task.job_folder / name.file);
  return files;
}

std::string problem_of_scratch(const Job& job, const fs::path& folder, const std::string& name) {
  const fs::path path = one_spelling(folder / name);
  const std::map<fs::path, std::string> reserved = reserved_paths(job, folder);
  const auto found = reserved.find(path);
  if (found != reserved.end()) return found->second;
  if (is_reserved(job, folder, path)) return reserved_reason;
  for (const NamedFile& output : outputs_of(job)) {
    if (one_spelling(folder / output.file) == path) {
      return fmt::format("is an output of the job (at {})", to_string(output.where));
    }
  }
  return {};
}

void check_outputs(const Job& job, const fs::path& folder, std::vector<Error>& errors) {
  std::map<fs::path, std::string> taken = reserved_paths(job, folder);
  for (const NamedFile& output : outputs_of(job)) {
    const auto add = [&](const std::string& message) {
      errors.emplace_back(ErrorCode::invalid_input, message + "; choose another name", output.where);
    };
    const fs::path path = one_spelling(folder / output.file);
    std::error_code ignored;
    if (!fs::path(output.file).has_filename() || fs::is_directory(path, ignored)) {
      add(fmt::format("'{}' must be a file, not a folder", output.file));
      continue;
    }
    if (is_reserved(job, folder, path)) {
      add(fmt::format("'{}' {}", output.file, reserved_reason));
      continue;
    }
    const auto [place, is_new] =
        taken.emplace(path, fmt::format("is written twice (first at {})", to_string(output.where)));
    if (!is_new) {
      add(fmt::format("'{}' {}", output.file, place->second));
      continue;
    }
    const auto both = [&](const fs::path& other) {
      add(fmt::format("'{}' and {} cannot both be files: one would be a folder", output.file, other.string()));
    };
    const auto inside = std::next(place);
    if (inside != taken.end() && is_inside(inside->first, path)) both(inside->first);
    for (fs::path above = path.parent_path(); above.has_relative_path(); above = above.parent_path()) {
      if (taken.count(above)) both(above);
    }
  }
}

void probe_outputs(const Job& job, const fs::path& folder, std::vector<Error>& errors) {
  for (const NamedFile& output : outputs_of(job)) {
    const fs::path target = one_spelling(folder / output.file);
    std::error_code ignored;
    if (fs::is_other(target, ignored)) continue;  // opening a device or a pipe may have an effect
    try {
      const AtomicFile probe((nearest_place(target) / target.filename()).string());
    } catch (const Error& error) {
      errors.emplace_back(error.code(), fmt::format("'{}': {}", output.file, error.what()), output.where);
    }
  }
}

void remove_leftovers(const Job& job, const fs::path& folder, const std::vector<std::string>& others) {
  std::map<fs::path, std::set<std::string>> names;  // of the targets in each folder
  const auto note = [&](const fs::path& target) { names[target.parent_path()].insert(target.filename().string()); };
  for (const char* name : {"results.json", "restart.json"}) note(one_spelling(folder / name));
  for (const std::string& name : others) note(one_spelling(folder / name));
  for (const NamedFile& output : outputs_of(job)) note(one_spelling(folder / output.file));
  const fs::path here = one_spelling(folder / "results.json").parent_path();
  for (const auto& [place, targets] : names) {
    std::error_code ignored;
    std::vector<fs::path> found;
    for (fs::directory_iterator entry(place, ignored), end; entry != end; entry.increment(ignored)) {
      const std::string target = name_of_leftover(entry->path().filename().string());
      if (targets.count(target) || (place == here && is_unfinished(job, target))) found.push_back(entry->path());
    }
    for (const fs::path& leftover : found) fs::remove(leftover, ignored);
  }
}

}  // namespace quadrille
