// restart.json: the state of a job in its output folder, kept so that a run which is killed loses nothing.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace quadrille {

/// JSON, indented, with each list of single values on one line: a history has thousands of them.
std::string pretty(const nlohmann::ordered_json& value);

/// A map of maps. A small one is written anew with each change. To a larger one changes are appended, one on each line,
/// until they have as many bytes as the map; then it is written anew, so that the work is linear in the number of
/// changes. A change is a map of maps itself: its entries replace those of the same names, or remove them where they
/// are null.
class RestartFile {
 public:
  explicit RestartFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// Whether there is one. Error (ErrorCode::file): something of that name that is not a regular file.
  bool exists() const;
  /// What it holds, with all changes but a last one that was cut off; null when it is not what this class writes.
  nlohmann::ordered_json read() const;
  /// Replaces it. Errors: ErrorCode::file.
  void write(const nlohmann::ordered_json& state);
  /// Makes a change on the disk; `state` gives all with it. Errors: ErrorCode::file; the file is then as before.
  void change(const nlohmann::ordered_json& change, const std::function<nlohmann::ordered_json()>& state);
  /// Whether changes are appended to it.
  bool has_changes() const { return appended_ > 0; }

 private:
  void append(const std::string& line);

  std::filesystem::path path_;
  std::size_t written_ = 0, appended_ = 0;  ///< bytes
};

}  // namespace quadrille
