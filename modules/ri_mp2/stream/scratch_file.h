// Numbers that do not fit into memory, on a disk while they are needed.
#pragma once

#include "core/system/atomic_file.h"

#include <cstdint>
#include <string>

namespace quadrille::ri_mp2 {

/// A file without a name: the system takes its room back when it is closed, however the program ends. Errors:
/// ErrorCode::file, with the path, what failed and the system's reason; a disk that is too full is found by the
/// constructor, with the number of bytes.
class ScratchFile {
 public:
  /// In the folder `path`, or in that of the file `path`.
  ScratchFile(const std::string& path, std::int64_t bytes);

  void write(std::int64_t offset, const void* from, std::int64_t bytes);
  void read(std::int64_t offset, void* to, std::int64_t bytes) const;

 private:
  AtomicFile file_;
};

}  // namespace quadrille::ri_mp2
