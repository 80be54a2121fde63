// The output folder of a job: results.json, and restart.json, by which an interrupted job goes on.
//
// restart.json keeps the resolved job and, for each finished task, its key (a hash of the resolved task, the gauge
// field's checksum and the version) and its results; of a long task that is not finished, what it has done so far; the
// names of the files that the program has written, each with its size and checksum; the time that all this took. A task
// whose key is there, and whose files are as it wrote them, is not done again. What is not among these files is
// somebody else's, and is never replaced.
#pragma once

#include "core/comm/communicator.h"
#include "core/error.h"
#include "input/run/file_stamp.h"
#include "input/run/folder_lock.h"
#include "input/run/restart_file.h"
#include "input/run/task_record.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// How a run treats its folder.
struct FolderRules {
  bool force = false;    ///< start from scratch: remove what the earlier run wrote
  bool confine = false;  ///< refuse outputs that are not in the folder itself
};

/// Over several ranks rank 0 works in the folder and tells the others what it finds; the members that say so are
/// collective.
class OutputFolder {
 public:
  /// Makes the folder, locks it, and reads what an earlier run of `job` left there; with `force` only the names of its
  /// files. The whole numbers at `extendable` (JSON pointers) may be larger than in that run. Collective. Errors
  /// (ErrorCode::file): a folder that cannot be made or written to, or that another run works in; results of another
  /// job, naming the first key that differs; a damaged restart.json; results.json or restart.json of somebody else.
  OutputFolder(std::filesystem::path folder, const nlohmann::ordered_json& job, FolderRules rules,
               std::shared_ptr<const Communicator> communicator = single_process(),
               std::vector<std::string> extendable = {});
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  const std::filesystem::path& place() const { return folder_; }
  std::filesystem::path path(const std::string& file) const { return folder_ / file; }
  /// The path of an output, once the folders on the way to it are there and restart.json has its name. Collective.
  /// Errors: ErrorCode::file, for somebody else's file too.
  std::filesystem::path output(const std::string& file);
  /// An output is whole: its size and checksum are known from now on. Collective.
  void wrote(const std::string& file);
  /// Why a file may not be written as an output: somebody else's, or one that `confine` refuses; empty when it may. Of
  /// rank 0.
  std::string problem_of_output(const std::string& file) const;
  /// The same as output() of a file that continues a task, whose name is reserved.
  std::filesystem::path prepare(const std::string& file);
  /// Removes the files of the folder whose names begin with one of these, but for those that the states of tasks name
  /// (as `file`). Collective.
  void remove_beginning(const std::vector<std::string>& prefixes);
  /// The bytes of a file, read by rank 0. Collective. Errors: ErrorCode::file.
  std::string read(const std::string& file) const;
  /// Writes a file of prepare(), and one of output(), whole, by rank 0. Collective.
  void write(const std::string& file, const std::string& text);
  void write_output(const std::string& file, const std::string& text);

  /// Makes this job the one that the folder belongs to, before anything else is written: removes what `force` says,
  /// but for the files `spared` and those outside of the folder, and writes restart.json. Collective.
  void begin(const std::vector<std::filesystem::path>& spared = {});
  /// The record of a finished task; null otherwise.
  const TaskRecord* finished(const std::string& task, const std::string& key) const;
  /// The same, unless one of its files is missing or has changed: then `why` says so, and the record is gone,
  /// with what the task has kept. Collective.
  const TaskRecord* verified(const std::string& task, const std::string& key, std::string& why);
  /// Why the files of an unfinished task cannot be those that it wrote; empty when they can. Collective.
  std::string damage(const std::vector<std::string>& files) const;
  /// Keeps a record, in which numbers that are not finite become null, each with a warning. What the task has
  /// kept is forgotten unless its `state_stays`. Collective. Error (ErrorCode::file): a file of it is missing.
  void finish(const std::string& task, TaskRecord record, bool state_stays = false);
  const std::map<std::string, TaskRecord>& records() const { return records_; }
  /// What a task of this key that was interrupted had done; null when there is nothing.
  nlohmann::ordered_json unfinished(const std::string& task, const std::string& key) const;
  /// Whether there is something of that task, of whatever key; of another key.
  bool has_unfinished(const std::string& task) const { return unfinished_.contains(task); }
  bool unfinished_of_another(const std::string& task, const std::string& key) const;
  /// Keeps what a task has done so far, until it is finished. Collective.
  void keep_unfinished(const std::string& task, const std::string& key, nlohmann::ordered_json so_far);
  /// `timing` of results.json, for the runs to come: kept with the next record.
  void set_timing(nlohmann::ordered_json timing) { timing_ = std::move(timing); }
  const nlohmann::ordered_json& timing() const { return timing_; }
  /// The error for a restart.json that cannot be used: `what` is wrong with it, and how to go on without it.
  Error damaged(const std::string& what) const;
  /// Writes results.json: numbers that are not finite become null, each with a warning. Of rank 0.
  void write_results(nlohmann::ordered_json results) const;
  /// The end of the job: all is on the disk. Collective. Error (ErrorCode::file): the folder or a file of a record is
  /// not there any more.
  void end();

 private:
  void read_earlier();
  void read_names_of_earlier();
  void check_results() const;
  /// Gives every rank what rank 0 has read.
  void share_earlier();
  void require_held() const;
  void remove_earlier(const std::vector<std::filesystem::path>& spared);
  /// Makes a change of the members known to restart.json. Of rank 0.
  void keep(const nlohmann::ordered_json& change);
  std::string damage_here(const std::vector<std::string>& files, Depth depth) const;
  nlohmann::ordered_json state() const;

  std::shared_ptr<const Communicator> communicator_;
  std::filesystem::path folder_;
  FolderRules rules_;
  std::optional<FolderLock> lock_;
  RestartFile restart_;
  nlohmann::ordered_json job_;
  std::vector<std::string> extendable_;
  std::map<std::string, TaskRecord> records_;
  /// {task: {key, so_far}}; of a task that can be extended also when it has finished.
  nlohmann::ordered_json unfinished_ = nlohmann::ordered_json::object();
  /// Of rank 0, by name_of(); nothing: it may not be whole.
  std::map<std::string, std::optional<FileStamp>> written_;
  nlohmann::ordered_json timing_ = nlohmann::ordered_json::object();
};

}  // namespace quadrille
