// The states of a module's task: parts by name in files, from which an interrupted task goes on.
#pragma once

#include "input/files/gauge_file.h"
#include "input/plugins/module_run.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace quadrille {

/// Of one run of a task. Two sets of files take turns, so that the one that restart.json names is whole while the other
/// is written.
class ModuleState {
 public:
  /// Finds the last state that an earlier run has kept, and compares the hashes of its parts. A state that is damaged
  /// is left, with a warning.
  ModuleState(JobRun& job, const TaskSpec& task);

  /// Write a part of the next state: bytes are those of rank 0. Throw std::invalid_argument for a name that is no good
  /// or has been put already.
  void put(const std::string& name, const void* bytes, std::size_t size);
  /// Not again if the task has just written these links in as many bits (32 or 64).
  void put(const std::string& name, const GaugeStore& links, int bits, const WrittenLinks& written);
  /// What has been put becomes the state.
  void keep();

  /// How many states have been kept, over all runs, and the hash of the last one.
  std::uint64_t generation() const { return generation_; }
  const std::string& hash() const { return hash_; }
  /// Of the state that was found; null when it has no such part.
  const std::string* bytes(const std::string& name) const;
  const GaugeFile* links(const std::string& name) const;

 private:
  using Json = nlohmann::ordered_json;
  void read(const Json& parts);
  void read_part(const std::string& name, const std::string& file, const std::string& hash);
  std::string next_file(const std::string& name, const char* ending) const;

  JobRun& job_;
  const TaskSpec& task_;
  std::uint64_t generation_ = 0;
  std::string hash_;
  Json put_ = Json::object();  ///< parts of the next state: {name: {file, hash}}
  std::map<std::string, std::string> bytes_;
  std::map<std::string, GaugeFile> links_;
};

/// That of a task at work, read at the first call.
ModuleState& state_of(quadrille_run* run);

}  // namespace quadrille
