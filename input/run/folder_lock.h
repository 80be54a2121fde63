// One run at a time in an output folder.
#pragma once

#include <filesystem>
#include <string>

namespace quadrille {

/// Holds the file `.lock` of a folder locked while it lives, and removes it then. A process that is killed leaves the
/// file, but not the lock. Errors (ErrorCode::file): another run holds it, naming its host and process; a file of that
/// name is not the lock of a run, and stays as it is. A file system that knows no locks is warned of.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  /// Whether the folder still has it: not once somebody has removed or replaced the folder.
  bool held() const;

 private:
  std::string file_;
  int descriptor_ = -1;
};

}  // namespace quadrille
