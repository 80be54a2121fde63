// What a finished task leaves behind, as restart.json holds it.
#pragma once

#include <nlohmann/json.hpp>

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
  int continued_solves = 0;        ///< of `solves`, those of an earlier run; of this run alone
  std::string data_hash;           ///< of the field it computed, to know a saved one again
  std::string isa;                 ///< the instruction set and the threads that it ran with
  int threads = 0;
};

nlohmann::ordered_json to_json(const TaskRecord& record);
/// The other way, of a record that record_problem() finds nothing wrong with.
TaskRecord record_of(const nlohmann::ordered_json& json);

/// "key' must be ..." of the first value of a record that is missing or cannot be right, and the same of what an
/// unfinished task has kept ({key, so_far}); empty when all can be.
std::string record_problem(const nlohmann::ordered_json& record);
std::string unfinished_problem(const nlohmann::ordered_json& kept);

/// Whether this is a list of strings.
bool is_texts(const nlohmann::ordered_json& value);

}  // namespace quadrille
