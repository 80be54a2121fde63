#include "input/run/output_folder.h"

#include "core/comm/agreement.h"
#include "core/system/atomic_file.h"
#include "core/system/log.h"
#include "input/files/input_file.h"
#include "input/run/json_changes.h"
#include "input/run/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;
constexpr int restart_version = 6;
constexpr const char* way_out = "choose another --out, or use --force to start from scratch";

void make_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (std::filesystem::is_directory(folder)) return;
  throw Error(ErrorCode::file,
              fmt::format("cannot create the output folder: {}", code ? code.message() : "a file of that name exists"),
              Location{folder.string(), 0, 0, {}, -1});
}

/// One name for `p.lime` and `./p.lime`. One with `..` stays as it is: link/.. is not where it seems to be.
std::string name_of(const std::filesystem::path& file) {
  const bool goes_up = std::find(file.begin(), file.end(), "..") != file.end();
  return goes_up ? file.string() : file.lexically_normal().string();
}

/// A device or a pipe, which keeps nothing.
bool keeps_nothing(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_other(file, ignored);
}

/// Names of the files of a state.
void collect_files(const Json& state, std::set<std::string>& found) {
  for (const auto& [key, value] : state.items()) {
    if (value.is_structured()) collect_files(value, found);
    if (key == "file" && value.is_string()) found.insert(value.get<std::string>());
  }
}

}  // namespace

OutputFolder::OutputFolder(std::filesystem::path folder, const Json& job, FolderRules rules,
                           std::shared_ptr<const Communicator> communicator, std::vector<std::string> extendable)
    : communicator_(std::move(communicator)),
      folder_(std::move(folder)),
      rules_(rules),
      restart_(path("restart.json")),
      job_(job),
      extendable_(std::move(extendable)) {
  on_first_rank(*communicator_, [&] {
    make_folder(folder_);
    lock_.emplace(folder_);
    check_results();
    if (rules_.force) {
      read_names_of_earlier();
    } else {
      read_earlier();
    }
    AtomicFile probe(
        path("results.json").string());  // fails now, rather than after hours, where nothing can be written
  });
  share_earlier();
}

/// What is appended to restart.json would puzzle readers of a run that has ended.
OutputFolder::~OutputFolder() {
  if (!lock_ || !restart_.has_changes() || !lock_->held()) return;
  try {
    restart_.write(state());
  } catch (const std::exception&) {  // it is complete as it is
  }
}

void OutputFolder::share_earlier() {
  if (communicator_->size() == 1) return;
  const Json earlier = Json::parse(share(*communicator_, state().dump()));
  records_.clear();
  for (const auto& [task, record] : earlier.at("tasks").items()) records_[task] = record_of(record);
  unfinished_ = earlier.at("unfinished");
  timing_ = earlier.at("timing");
}

Error OutputFolder::damaged(const std::string& what) const {
  return Error(ErrorCode::file, fmt::format("damaged: {}; {}", what, way_out), {.file = path("restart.json").string()});
}

/// results.json that this program has not written is nothing to replace.
void OutputFolder::check_results() const {
  const std::filesystem::path file = path("results.json");
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::file, fmt::format("{}; move it away, or choose another --out", what),
                Location{file.string(), 0, 0, {}, -1});
  };
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  if (!std::filesystem::exists(status)) return;
  if (!std::filesystem::is_regular_file(status)) fail("this is not a regular file");
  if (rules_.confine && std::filesystem::is_symlink(file, ignored)) fail("--confine: this is a symbolic link");
  if (restart_.exists()) return;
  if (!rules_.force) {
    throw Error(ErrorCode::file, fmt::format("these results belong to a run that cannot be continued; {}", way_out),
                Location{file.string(), 0, 0, {}, -1});
  }
  std::ifstream stream(file);
  const Json results = Json::parse(stream, nullptr, false);
  if (!results.is_object() || !results.contains("schema_version")) fail("this file is not one of Quadrille's");
}

void OutputFolder::read_earlier() {
  if (!restart_.exists()) return;
  const std::string name = path("restart.json").string();
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::file, fmt::format("{}; {}", what, way_out), Location{name, 0, 0, {}, -1});
  };
  const Json earlier = restart_.read();
  if (!earlier.is_object()) throw damaged("this is not JSON, or it is incomplete");
  if (!earlier.contains("schema_version") || !earlier["schema_version"].is_number_integer()) {
    throw damaged("'schema_version' is missing");
  }
  if (earlier["schema_version"] != restart_version) fail("written by another version of Quadrille");
  const auto map = [&](const char* key) -> const Json& {
    if (!earlier.contains(key) || !earlier[key].is_object()) throw damaged(fmt::format("'{}' must be a map", key));
    return earlier[key];
  };
  const std::string where = first_difference(extended(map("job"), job_, extendable_), job_);
  if (!where.empty()) fail(fmt::format("the output folder holds another job: {}", where));
  for (const auto& [task, record] : map("tasks").items()) {
    const std::string problem = record_problem(record);
    if (!problem.empty()) throw damaged(fmt::format("'tasks.{}.{}", task, problem));
    records_[task] = record_of(record);
  }
  unfinished_ = map("unfinished");
  for (const auto& [task, kept] : unfinished_.items()) {
    const std::string problem = unfinished_problem(kept);
    if (!problem.empty()) throw damaged(fmt::format("'unfinished.{}.{}", task, problem));
  }
  for (const auto& [file, stamp] : map("written").items()) written_[name_of(file)] = file_stamp_of(stamp);
  timing_ = map("timing");
  for (const auto& [phase, seconds] : timing_.items()) {
    if (!seconds.is_number() || seconds.get<double>() < 0)
      throw damaged(fmt::format("'timing.{}' must be a number that is not negative", phase));
  }
}

/// Those that restart.json names, of an earlier version too; of a damaged one none.
void OutputFolder::read_names_of_earlier() {
  if (!restart_.exists()) return;
  const Json earlier = restart_.read();
  if (earlier.contains("written") && earlier["written"].is_object()) {
    for (const auto& [file, stamp] : earlier["written"].items()) written_[name_of(file)];
  }
  if (!earlier.contains("tasks") || !earlier["tasks"].is_object()) return;
  for (const auto& [task, record] : earlier["tasks"].items()) {
    if (!record.is_object() || !record.contains("files") || !is_texts(record["files"])) continue;
    for (const Json& file : record["files"]) written_[name_of(file.get<std::string>())];
  }
}

void OutputFolder::require_held() const {
  if (lock_->held()) return;
  throw Error(ErrorCode::file, "the output folder was removed or replaced while this run worked in it",
              {.file = folder_.string()});
}

std::string OutputFolder::problem_of_output(const std::string& file) const {
  if (rules_.confine) {
    const std::string problem = why_outside(folder_, file);
    if (!problem.empty()) return fmt::format("--confine: {}", problem);
  }
  std::error_code ignored;
  if (written_.contains(name_of(file)) || !std::filesystem::is_regular_file(path(file), ignored)) return {};
  return "a file of that name exists, and it was not written by an earlier run in this folder: move it away, or choose "
         "another name";
}

std::filesystem::path OutputFolder::output(const std::string& file) {
  on_first_rank(*communicator_, [&] {
    const std::string problem = problem_of_output(file);
    if (!problem.empty()) throw Error(ErrorCode::file, problem, {.file = path(file).string()});
  });
  return prepare(file);
}

std::filesystem::path OutputFolder::prepare(const std::string& file) {
  const std::filesystem::path target = path(file);
  on_first_rank(*communicator_, [&] {
    require_held();
    make_folder(target.parent_path());
    make_folder(one_spelling(target).parent_path());  // of a link to what is not there yet
    const auto [place, is_new] = written_.try_emplace(name_of(file));
    place->second.reset();
    if (is_new) keep({{"written", {{place->first, Json::object()}}}});
  });
  return target;
}

void OutputFolder::wrote(const std::string& file) {
  on_first_rank(*communicator_, [&] {
    if (keeps_nothing(path(file))) return;
    const FileStamp stamp = stamp_of(path(file));
    written_[name_of(file)] = stamp;
    keep({{"written", {{name_of(file), to_json(stamp)}}}});
  });
}

void OutputFolder::remove_beginning(const std::vector<std::string>& prefixes) {
  on_first_rank(*communicator_, [&] {
    std::set<std::string> kept;
    collect_files(unfinished_, kept);
    std::error_code ignored;
    std::vector<std::filesystem::path> found;
    for (std::filesystem::directory_iterator entry(folder_, ignored), end; entry != end; entry.increment(ignored)) {
      const std::string name = entry->path().filename().string();
      const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
      if (!kept.contains(name) && std::any_of(prefixes.begin(), prefixes.end(), begins)) found.push_back(entry->path());
    }
    for (const std::filesystem::path& file : found) {
      std::filesystem::remove(file, ignored);
      written_.erase(file.filename().string());
    }
  });
}

std::string OutputFolder::read(const std::string& file) const {
  std::string text;
  on_first_rank(*communicator_, [&] {
    const InputFile from(path(file).string());
    text.resize(from.size());
    from.read(0, text.data(), text.size());
  });
  return share(*communicator_, std::move(text));
}

void OutputFolder::write(const std::string& file, const std::string& text) {
  const std::string target = prepare(file).string();
  on_first_rank(*communicator_, [&] { write_file(target, text); });
}

void OutputFolder::write_output(const std::string& file, const std::string& text) {
  const std::string target = output(file).string();
  on_first_rank(*communicator_, [&] { write_file(target, text); });
  wrote(file);
}

void OutputFolder::begin(const std::vector<std::filesystem::path>& spared) {
  on_first_rank(*communicator_, [&] {
    require_held();
    if (rules_.force) remove_earlier(spared);
    restart_.write(state());
  });
}

void OutputFolder::remove_earlier(const std::vector<std::filesystem::path>& spared) {
  const std::filesystem::path here = one_spelling(folder_);
  std::size_t removed = 0, left = 0;
  for (auto file = written_.begin(); file != written_.end();) {
    const std::filesystem::path target = one_spelling(path(file->first).parent_path()) / path(file->first).filename();
    std::error_code ignored;
    const auto status = std::filesystem::symlink_status(target, ignored);
    const bool is_link = std::filesystem::is_symlink(status);  // the user's, made for this output
    const bool there = is_link || std::filesystem::is_regular_file(status);
    const bool stays =
        there && (is_link || !is_inside(target, here) || std::count(spared.begin(), spared.end(), target) > 0);
    if (there && !stays) removed += std::filesystem::remove(target, ignored);
    left += stays;
    file = stays ? std::next(file) : written_.erase(file);
  }
  if (removed > 0)
    log().info("--force: {} of the earlier run removed", removed == 1 ? "one file" : fmt::format("{} files", removed));
  if (left > 0) {
    log().info("--force: files of the earlier run that are inputs, symbolic links or outside of the folder stay: {}",
               left);
  }
}

std::string OutputFolder::damage_here(const std::vector<std::string>& files, Depth depth) const {
  for (const std::string& file : files) {
    const auto found = written_.find(name_of(file));
    std::error_code ignored;
    std::string what;
    if (found != written_.end() && found->second) {
      what = difference_from(*found->second, path(file), depth);
    } else if (!std::filesystem::exists(path(file), ignored)) {
      what = "is missing";
    }
    if (!what.empty()) return fmt::format("{} {}", file, what);
  }
  return {};
}

std::string OutputFolder::damage(const std::vector<std::string>& files) const {
  std::string what;
  on_first_rank(*communicator_, [&] { what = damage_here(files, Depth::size); });
  return share(*communicator_, std::move(what));
}

const TaskRecord* OutputFolder::finished(const std::string& task, const std::string& key) const {
  const auto found = records_.find(task);
  return found == records_.end() || found->second.key != key ? nullptr : &found->second;
}

const TaskRecord* OutputFolder::verified(const std::string& task, const std::string& key, std::string& why) {
  const TaskRecord* record = finished(task, key);
  if (record == nullptr) return nullptr;
  on_first_rank(*communicator_, [&] { why = damage_here(record->files, Depth::content); });
  why = share(*communicator_, std::move(why));
  if (why.empty()) return record;
  records_.erase(task);
  unfinished_.erase(task);  // the state of its end would take these files for made
  on_first_rank(*communicator_, [&] { keep({{"tasks", {{task, nullptr}}}, {"unfinished", {{task, nullptr}}}}); });
  return nullptr;
}

void OutputFolder::finish(const std::string& task, TaskRecord record, bool state_stays) {
  // Here, not only in the results: restart.json would forget what stood in the place of null.
  Json values = {{"solves", std::move(record.solves)}, {"correlators", std::move(record.correlators)}};
  values.update(record.blocks);
  for (std::string& found : remove_not_finite(values)) record.warnings.push_back(std::move(found));
  record.solves = std::move(values["solves"]);
  record.correlators = std::move(values["correlators"]);
  for (auto& [name, block] : record.blocks.items()) block = std::move(values[name]);
  records_[task] = std::move(record);
  Json forgotten = Json::object();
  if (!state_stays) {
    unfinished_.erase(task);
    forgotten[task] = nullptr;
  }
  on_first_rank(*communicator_, [&] {
    const TaskRecord& kept = records_[task];
    Json stamps = Json::object();
    for (const std::string& file : kept.files) {
      if (keeps_nothing(path(file))) continue;
      require_held();
      if (std::optional<FileStamp>& stamp = written_[name_of(file)]; !stamp) {
        stamp = stamp_of(path(file));
        stamps[name_of(file)] = to_json(*stamp);
      }
    }
    keep({{"tasks", {{task, to_json(kept)}}},
          {"unfinished", std::move(forgotten)},
          {"written", std::move(stamps)},
          {"timing", timing_}});
  });
}

Json OutputFolder::unfinished(const std::string& task, const std::string& key) const {
  const auto found = unfinished_.find(task);
  return found != unfinished_.end() && found->at("key") == key ? found->at("so_far") : Json();
}

bool OutputFolder::unfinished_of_another(const std::string& task, const std::string& key) const {
  const auto found = unfinished_.find(task);
  return found != unfinished_.end() && found->at("key") != key;
}

void OutputFolder::keep_unfinished(const std::string& task, const std::string& key, Json so_far) {
  remove_not_finite(so_far);
  unfinished_[task] = {{"key", key}, {"so_far", std::move(so_far)}};
  on_first_rank(*communicator_, [&] { keep({{"unfinished", {{task, unfinished_[task]}}}, {"timing", timing_}}); });
}

Json OutputFolder::state() const {
  Json out = {{"schema_version", restart_version}, {"job", job_}, {"tasks", Json::object()}};
  for (const auto& [name, one] : records_) out["tasks"][name] = to_json(one);
  out["unfinished"] = unfinished_;
  out["written"] = Json::object();
  for (const auto& [file, stamp] : written_) out["written"][file] = stamp ? to_json(*stamp) : Json::object();
  out["timing"] = timing_;
  return out;
}

void OutputFolder::keep(const Json& change) {
  require_held();
  restart_.change(change, [this] { return state(); });
}

void OutputFolder::write_results(Json results) const {
  for (std::string& found : remove_not_finite(results)) results["warnings"].push_back(std::move(found));
  require_held();
  write_file(path("results.json").string(), pretty(results));
}

void OutputFolder::end() {
  on_first_rank(*communicator_, [&] {
    require_held();
    restart_.write(state());
    for (const auto& [task, record] : records_) {
      const std::string what = damage_here(record.files, Depth::size);
      if (what.empty()) continue;
      throw Error(ErrorCode::file,
                  fmt::format("an output of {} was removed or changed during this run: {}; run again to make it anew",
                              task, what),
                  {.file = folder_.string()});
    }
  });
}

}  // namespace quadrille
