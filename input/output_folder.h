// The output folder of a job: results.json, and restart.json, by which an interrupted job goes on.
//
// restart.json keeps the resolved job and, for each finished task, its key (a hash of the resolved task, the gauge
// field's checksum and the version) and its results; of a long task that is not finished, what it has done so far. A
// task whose key is there, and whose files are, is not done again.
#pragma once

#include "core/comm/communicator.h"
#include "core/error.h"
#include "input/folder_lock.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// What a task leaves behind.
struct TaskRecord {
  std::string key;
  nlohmann::ordered_json solves = nlohmann::ordered_json::array();
  nlohmann::ordered_json correlators;  ///< null when it has none
  /// What stands under the task's name in other blocks of results.json: {"studies": {...}}.
  nlohmann::ordered_json blocks = nlohmann::ordered_json::object();
  nlohmann::ordered_json result;  ///< of a module's task: stands under the task's name itself; null when it has none
  std::vector<std::string> warnings;
  std::vector<std::string> files;  ///< written, relative to the folder
  std::string data_hash;           ///< of the field it computed, to know a saved one again
  std::string isa;                 ///< the instruction set and the threads that it ran with
  int threads = 0;
};

/// Over several ranks rank 0 works in the folder and tells the others what it finds; all members but path(), records(),
/// unfinished(), unfinished_of_another() and damaged() are collective.
class OutputFolder {
 public:
  /// Makes the folder, locks it, and reads what an earlier run of `job` left there; with `force` that is forgotten. The
  /// whole numbers at `extendable` (JSON pointers) may be larger than in that run.
  /// Errors (ErrorCode::file): a folder that cannot be made or written to, or that another run works in; results of
  /// another job, naming the first key that differs; a damaged restart.json.
  OutputFolder(std::filesystem::path folder, const nlohmann::ordered_json& job, bool force,
               std::shared_ptr<const Communicator> communicator = single_process(),
               std::vector<std::string> extendable = {});

  std::filesystem::path path(const std::string& file) const { return folder_ / file; }
  /// The same, once the folders on the way to it are there. Errors: ErrorCode::file.
  std::filesystem::path prepare(const std::string& file) const;
  /// Removes the files of the folder whose names begin so, but for those of the state that it keeps of a task.
  void remove_beginning(const std::string& prefix, const std::string& task) const;
  /// The bytes of a file, read by rank 0. Errors: ErrorCode::file.
  std::string read(const std::string& file) const;
  /// Writes one whole, by rank 0.
  void write(const std::string& file, const std::string& text) const;
  /// The record of a finished task whose files are still there; null otherwise.
  const TaskRecord* finished(const std::string& task, const std::string& key) const;
  /// Makes this job the one that the folder belongs to: writes restart.json. Before anything else is written.
  void begin() const;
  /// Keeps a record, in which numbers that are not finite become null, each with a warning; writes restart.json. What
  /// the task has kept is forgotten unless its `state_stays`.
  void finish(const std::string& task, TaskRecord record, bool state_stays = false);
  /// Forgets a task whose files are no longer there, and what it has kept.
  void forget_if_lost(const std::string& task, const std::string& key);
  const std::map<std::string, TaskRecord>& records() const { return records_; }
  /// What a task of this key that was interrupted had done; null when there is nothing.
  nlohmann::ordered_json unfinished(const std::string& task, const std::string& key) const;
  /// Whether there is something of that task, but of another key.
  bool unfinished_of_another(const std::string& task, const std::string& key) const;
  /// Keeps what a task has done so far, until it is finished; writes restart.json.
  void keep_unfinished(const std::string& task, const std::string& key, nlohmann::ordered_json so_far);
  /// The error for a restart.json that cannot be used: `what` is wrong with it, and how to go on without it.
  Error damaged(const std::string& what) const;
  /// Writes results.json: numbers that are not finite become null, each with a warning.
  void write_results(nlohmann::ordered_json results) const;

 private:
  void read_earlier();
  /// Gives every rank what rank 0 has read.
  void share_earlier();
  bool files_exist(const TaskRecord& record) const;
  nlohmann::ordered_json state() const;

  std::shared_ptr<const Communicator> communicator_;
  std::filesystem::path folder_;
  std::optional<FolderLock> lock_;
  nlohmann::ordered_json job_;
  std::vector<std::string> extendable_;
  std::map<std::string, TaskRecord> records_;
  /// {task: {key, so_far}}; of a task that can be extended also when it has finished.
  nlohmann::ordered_json unfinished_ = nlohmann::ordered_json::object();
};

/// The first place where two JSON values differ, as "operator.kappa is 0.1 there and 0.2 here"; empty when nowhere.
std::string first_difference(const nlohmann::ordered_json& there, const nlohmann::ordered_json& here);

/// Replaces numbers that are not finite by null and names their places.
std::vector<std::string> remove_not_finite(nlohmann::ordered_json& value);

}  // namespace quadrille
