#include "input/outputs.h"

#include "core/atomic_file.h"

#include <fmt/format.h>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

struct Output {
  std::string file;  ///< as the job spells it
  Location where;
};

/// A path that an output may not take.
struct Taken {
  fs::path path;
  std::string reason;
};

void collect(const Parameters& parameters, std::vector<Output>& found);

void collect(const Parameters::Item& item, std::vector<Output>& found) {
  if (item.group) collect(*item.group, found);
  for (const Parameters::Item& entry : item.list) collect(entry, found);
  if (item.type == ParameterType::file_out) found.push_back({std::get<std::string>(item.scalar), item.where});
}

void collect(const Parameters& parameters, std::vector<Output>& found) {
  for (const auto& [name, item] : parameters.items()) collect(item, found);
}

std::vector<Output> outputs_of(const Job& job) {
  std::vector<Output> found;
  if (job.gauge) collect(*job.gauge, found);
  for (const TaskSpec& task : job.run) collect(*task.parameters, found);
  return found;
}

/// One spelling for one file: links followed, "." and ".." gone, whether it exists or not.
fs::path one_spelling(const fs::path& path) {
  std::error_code failed;
  const fs::path whole = fs::absolute(path, failed);
  fs::path out = fs::weakly_canonical(whole, failed);
  return failed ? whole.lexically_normal() : out;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  const auto [end, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end == folder.end() && rest != path.end();
}

/// Where the file would be made: its folder, or the nearest one above that exists.
fs::path nearest_place(const fs::path& target) {
  fs::path place = target.parent_path();
  std::error_code ignored;
  while (place.has_relative_path() && fs::status(place, ignored).type() == fs::file_type::not_found) {
    place = place.parent_path();
  }
  return place;
}

/// True for ".NAME.PROCESS.NUMBER.part" of a process that is no more.
bool is_leftover(const std::string& file, const std::string& name) {
  const std::string start = "." + name + ".", end = ".part";
  if (!file.starts_with(start) || !file.ends_with(end)) return false;
  const char* first = file.data() + start.size();
  const char* last = file.data() + file.size() - end.size();
  pid_t process = 0;
  int number = 0;
  auto read = std::from_chars(first, last, process);
  if (read.ec != std::errc() || process <= 0 || read.ptr == last || *read.ptr != '.') return false;
  read = std::from_chars(read.ptr + 1, last, number);
  return read.ec == std::errc() && read.ptr == last && ::kill(process, 0) != 0 && errno == ESRCH;
}

void remove_leftovers_of(const fs::path& target) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (fs::directory_iterator entry(target.parent_path(), ignored), end; entry != end; entry.increment(ignored)) {
    if (is_leftover(entry->path().filename().string(), target.filename().string())) found.push_back(entry->path());
  }
  for (const fs::path& leftover : found) fs::remove(leftover, ignored);
}

}  // namespace

fs::path default_output_folder(const fs::path& job) {
  fs::path folder = job;
  const std::string ending = folder.extension().string();
  if (ending == ".yaml" || ending == ".yml") folder.replace_extension();
  folder += ".out";
  return folder;
}

void check_outputs(const Job& job, const fs::path& folder, std::vector<Error>& errors) {
  std::vector<Taken> taken = {
      {one_spelling(job.file), fmt::format("is the job file {}", job.file.string())},
      {one_spelling(folder / "results.json"), "holds the results"},
      {one_spelling(folder / "restart.json"), "holds what an interrupted run needs"},
  };
  if (job.gauge && job.gauge->has("file")) {
    const fs::path input = job.input_path(job.gauge->text("file"));
    taken.push_back({one_spelling(input), fmt::format("is the input {}", input.string())});
  }
  for (const Output& output : outputs_of(job)) {
    const auto add = [&](const std::string& message) {
      errors.emplace_back(ErrorCode::invalid_input, message + "; choose another name", output.where);
    };
    const fs::path path = one_spelling(folder / output.file);
    std::error_code ignored;
    if (!fs::path(output.file).has_filename() || fs::is_directory(path, ignored)) {
      add(fmt::format("'{}' must be a file, not a folder", output.file));
      continue;
    }
    for (const Taken& other : taken) {
      if (path == other.path) {
        add(fmt::format("'{}' {}", output.file, other.reason));
        break;
      }
      if (is_inside(path, other.path) || is_inside(other.path, path)) {
        add(fmt::format("'{}' and {} cannot both be files", output.file, other.path.string()));
        break;
      }
    }
    taken.push_back({path, fmt::format("is written twice (first at {})", to_string(output.where))});
  }
}

void probe_outputs(const Job& job, const fs::path& folder, std::vector<Error>& errors) {
  for (const Output& output : outputs_of(job)) {
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

void remove_leftovers(const Job& job, const fs::path& folder) {
  for (const char* name : {"results.json", "restart.json"}) remove_leftovers_of(one_spelling(folder / name));
  for (const Output& output : outputs_of(job)) remove_leftovers_of(one_spelling(folder / output.file));
}

}  // namespace quadrille
