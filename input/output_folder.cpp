#include "input/output_folder.h"

#include "core/comm/agreement.h"
#include "core/system/atomic_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;
constexpr int restart_version = 5;
constexpr const char* way_out = "choose another --out, or use --force to start from scratch";

void make_folder(const std::filesystem::path& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (std::filesystem::is_directory(folder)) return;
  throw Error(ErrorCode::file,
              fmt::format("cannot create the output folder: {}", code ? code.message() : "a file of that name exists"),
              Location{folder.string(), 0, 0, {}, -1});
}

std::string differing(const std::string& place, const Json* there, const Json* here) {
  const auto text = [](const Json* value) { return value ? value->dump() : std::string("absent"); };
  return fmt::format("{} is {} there but {} here", place.empty() ? "the job" : place, text(there), text(here));
}

std::string difference(const Json& there, const Json& here, const std::string& place) {
  if (there.is_object() && here.is_object()) {
    const std::string prefix = place.empty() ? "" : place + ".";
    for (const auto& [key, value] : there.items()) {
      const auto other = here.find(key);
      if (other == here.end()) return differing(prefix + key, &value, nullptr);
      const std::string inside = difference(value, *other, prefix + key);
      if (!inside.empty()) return inside;
    }
    for (const auto& [key, value] : here.items()) {
      if (!there.contains(key)) return differing(prefix + key, nullptr, &value);
    }
    return {};
  }
  if (there.is_array() && here.is_array()) {
    for (std::size_t k = 0; k < std::max(there.size(), here.size()); ++k) {
      const std::string entry = fmt::format("{}[{}]", place, k);
      if (k >= there.size()) return differing(entry, nullptr, &here[k]);
      if (k >= here.size()) return differing(entry, &there[k], nullptr);
      const std::string inside = difference(there[k], here[k], entry);
      if (!inside.empty()) return inside;
    }
    return {};
  }
  return there == here ? std::string() : differing(place, &there, &here);
}

void clean(Json& value, const std::string& place, std::vector<std::string>& found) {
  if (value.is_object()) {
    for (auto& [key, inside] : value.items()) clean(inside, place.empty() ? key : place + "." + key, found);
  } else if (value.is_array()) {
    for (std::size_t k = 0; k < value.size(); ++k) clean(value[k], fmt::format("{}[{}]", place, k), found);
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    found.push_back(
        fmt::format("{} is {}, which JSON cannot represent; null is written instead", place, value.get<double>()));
    value = nullptr;
  }
}

/// The earlier job with the larger numbers of this one where those may grow.
Json extended(Json there, const Json& here, const std::vector<std::string>& extendable) {
  for (const std::string& place : extendable) {
    const Json::json_pointer at(place);
    const auto whole = [&](const Json& job) { return job.contains(at) && job.at(at).is_number_integer(); };
    if (whole(there) && whole(here) && there.at(at) < here.at(at)) there[at] = here.at(at);
  }
  return there;
}

/// Names of the files of a state.
void collect_files(const Json& state, std::set<std::string>& found) {
  for (const auto& [key, value] : state.items()) {
    if (value.is_structured()) collect_files(value, found);
    if (key == "file" && value.is_string()) found.insert(value.get<std::string>());
  }
}

bool is_flat(const Json& list) {
  return std::none_of(list.begin(), list.end(), [](const Json& item) { return item.is_structured(); });
}

/// Indented, with each list of single values on one line: a history has thousands of them.
void pretty(std::string& out, const Json& value, const std::string& indent) {
  if (!value.is_structured() || value.empty() || (value.is_array() && is_flat(value))) {
    out += value.dump();
    return;
  }
  const bool object = value.is_object();
  const std::string inside = indent + " ";
  const char* separator = "\n";
  out += object ? '{' : '[';
  for (const auto& [key, item] : value.items()) {
    out += separator + inside;
    if (object) out += Json(key).dump() + ": ";
    pretty(out, item, inside);
    separator = ",\n";
  }
  out += "\n" + indent + (object ? '}' : ']');
}

std::string pretty(const Json& value) {
  std::string out;
  pretty(out, value, "");
  return out + "\n";
}

Json record_json(const TaskRecord& record) {
  return {{"key", record.key},
          {"isa", record.isa},
          {"threads", record.threads},
          {"solves", record.solves},
          {"correlators", record.correlators},
          {"blocks", record.blocks},
          {"result", record.result},
          {"warnings", record.warnings},
          {"files", record.files},
          {"data_hash", record.data_hash}};
}

/// What a value of restart.json must be.
struct Shape {
  const char* key;
  bool (*fits)(const Json& value);
  const char* text;
};

bool is_text(const Json& value) { return value.is_string(); }
bool is_count(const Json& value) { return value.is_number_integer() && value.get<double>() >= 0; }
bool is_map(const Json& value) { return value.is_object(); }
bool is_tree(const Json& value) { return value.is_structured(); }
bool is_map_or_null(const Json& value) { return value.is_object() || value.is_null(); }
bool is_texts(const Json& value) { return value.is_array() && std::all_of(value.begin(), value.end(), is_text); }
bool is_solves(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& solve) {
           return solve.is_object() && solve.contains("converged") && solve["converged"].is_boolean();
         });
}

/// "key' must be ..." for the first that does not fit; empty when all do.
std::string problem_of(const Json& value, std::initializer_list<Shape> shapes) {
  for (const Shape& shape : shapes) {
    if (!value.is_object() || !value.contains(shape.key)) return fmt::format("{}' is missing", shape.key);
    if (!shape.fits(value[shape.key])) return fmt::format("{}' must be {}", shape.key, shape.text);
  }
  return {};
}

std::string record_problem(const Json& record) {
  return problem_of(record, {{"key", is_text, "a string"},
                             {"isa", is_text, "a string"},
                             {"threads", is_count, "a whole number"},
                             {"solves", is_solves, "a list of solves"},
                             {"correlators", is_map_or_null, "a map"},
                             {"blocks", is_map, "a map"},
                             {"result", is_map_or_null, "a map"},
                             {"warnings", is_texts, "a list of strings"},
                             {"files", is_texts, "a list of names"},
                             {"data_hash", is_text, "a string"}});
}

std::string unfinished_problem(const Json& kept) {
  const std::string problem = problem_of(kept, {{"key", is_text, "a string"}, {"so_far", is_map, "a map"}});
  if (!problem.empty()) return problem;
  const std::string inside = problem_of(
      kept["so_far"],
      {{"isa", is_text, "a string"}, {"threads", is_count, "a whole number"}, {"so_far", is_tree, "a map or a list"}});
  return inside.empty() ? inside : "so_far." + inside;
}

TaskRecord record_of(const Json& json) {
  TaskRecord record;
  json.at("key").get_to(record.key);
  record.solves = json.at("solves");
  record.correlators = json.at("correlators");
  record.blocks = json.at("blocks");
  record.result = json.at("result");
  json.at("warnings").get_to(record.warnings);
  json.at("files").get_to(record.files);
  json.at("data_hash").get_to(record.data_hash);
  json.at("isa").get_to(record.isa);
  json.at("threads").get_to(record.threads);
  return record;
}

}  // namespace

std::string first_difference(const Json& there, const Json& here) { return difference(there, here, ""); }

std::vector<std::string> remove_not_finite(Json& value) {
  std::vector<std::string> found;
  clean(value, "", found);
  return found;
}

OutputFolder::OutputFolder(std::filesystem::path folder, const Json& job, bool force,
                           std::shared_ptr<const Communicator> communicator, std::vector<std::string> extendable)
    : communicator_(std::move(communicator)),
      folder_(std::move(folder)),
      job_(job),
      extendable_(std::move(extendable)) {
  on_first_rank(*communicator_, [&] {
    make_folder(folder_);
    lock_.emplace(folder_);
    if (!force) read_earlier();
    AtomicFile probe(
        path("results.json").string());  // fails now, rather than after hours, where nothing can be written
  });
  share_earlier();
}

void OutputFolder::share_earlier() {
  if (communicator_->size() == 1) return;
  const Json earlier = Json::parse(share(*communicator_, state().dump()));
  records_.clear();
  for (const auto& [task, record] : earlier.at("tasks").items()) records_[task] = record_of(record);
  unfinished_ = earlier.at("unfinished");
}

Error OutputFolder::damaged(const std::string& what) const {
  return Error(ErrorCode::file, fmt::format("damaged: {}; {}", what, way_out), {.file = path("restart.json").string()});
}

void OutputFolder::read_earlier() {
  const std::string name = path("restart.json").string();
  const auto fail = [](const std::string& file, const std::string& what) {
    throw Error(ErrorCode::file, fmt::format("{}; {}", what, way_out), Location{file, 0, 0, {}, -1});
  };
  if (!std::filesystem::exists(name)) {
    const std::string results = path("results.json").string();
    if (std::filesystem::exists(results)) fail(results, "these results belong to a run that cannot be continued");
    return;
  }
  std::ifstream stream(name);
  const Json earlier = Json::parse(stream, nullptr, false);
  if (!earlier.is_object()) throw damaged("this is not JSON, or it is incomplete");
  if (!earlier.contains("schema_version") || !earlier["schema_version"].is_number_integer()) {
    throw damaged("'schema_version' is missing");
  }
  if (earlier["schema_version"] != restart_version) fail(name, "written by another version of Quadrille");
  const auto map = [&](const char* key) -> const Json& {
    if (!earlier.contains(key) || !earlier[key].is_object()) throw damaged(fmt::format("'{}' must be a map", key));
    return earlier[key];
  };
  const std::string where = first_difference(extended(map("job"), job_, extendable_), job_);
  if (!where.empty()) fail(name, fmt::format("the output folder holds another job: {}", where));
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
}

std::filesystem::path OutputFolder::prepare(const std::string& file) const {
  const std::filesystem::path target = path(file);
  on_first_rank(*communicator_, [&] { make_folder(target.parent_path()); });
  return target;
}

void OutputFolder::remove_beginning(const std::string& prefix, const std::string& task) const {
  on_first_rank(*communicator_, [&] {
    std::set<std::string> kept;
    if (unfinished_.contains(task)) collect_files(unfinished_.at(task), kept);
    std::error_code ignored;
    std::vector<std::filesystem::path> found;
    for (std::filesystem::directory_iterator entry(folder_, ignored), end; entry != end; entry.increment(ignored)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with(prefix) && !kept.contains(name)) found.push_back(entry->path());
    }
    for (const std::filesystem::path& file : found) std::filesystem::remove(file, ignored);
  });
}

std::string OutputFolder::read(const std::string& file) const {
  std::string text;
  on_first_rank(*communicator_, [&] {
    std::ostringstream bytes;
    std::ifstream from(path(file), std::ios::binary);
    if (!from) throw Error(ErrorCode::file, path(file).string() + ": cannot be read");
    bytes << from.rdbuf();
    if (!from) throw Error(ErrorCode::file, path(file).string() + ": cannot be read to the end");
    text = bytes.str();
  });
  return share(*communicator_, std::move(text));
}

void OutputFolder::write(const std::string& file, const std::string& text) const {
  const std::string target = prepare(file).string();
  on_first_rank(*communicator_, [&] { write_file(target, text); });
}

bool OutputFolder::files_exist(const TaskRecord& record) const {
  const bool exist = std::all_of(record.files.begin(), record.files.end(),
                                 [&](const std::string& file) { return std::filesystem::exists(path(file)); });
  return share(*communicator_, exist ? "yes" : "no") == "yes";
}

const TaskRecord* OutputFolder::finished(const std::string& task, const std::string& key) const {
  const auto found = records_.find(task);
  if (found == records_.end() || found->second.key != key) return nullptr;
  return files_exist(found->second) ? &found->second : nullptr;
}

void OutputFolder::forget_if_lost(const std::string& task, const std::string& key) {
  const auto found = records_.find(task);
  if (found == records_.end() || found->second.key != key || files_exist(found->second)) return;
  records_.erase(found);
  unfinished_.erase(task);
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
  if (!state_stays) unfinished_.erase(task);
  begin();
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
  begin();
}

Json OutputFolder::state() const {
  Json out = {{"schema_version", restart_version}, {"job", job_}, {"tasks", Json::object()}};
  for (const auto& [name, one] : records_) out["tasks"][name] = record_json(one);
  out["unfinished"] = unfinished_;
  return out;
}

void OutputFolder::begin() const { write("restart.json", pretty(state())); }

void OutputFolder::write_results(Json results) const {
  for (std::string& found : remove_not_finite(results)) results["warnings"].push_back(std::move(found));
  write("results.json", pretty(results));
}

}  // namespace quadrille
