// Output files that are whole or absent: written beside the target, flushed to disk, then renamed.
#pragma once

#include "core/api.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace quadrille {

/// Where a symbolic link leads, also where nothing is there yet; any other path, and a link to a device or a pipe, as
/// it is.
QUADRILLE_API std::string end_of_links(const std::string& path);

/// Writes a temporary file `<folder>/.<name>.<process>.<n>.part` and renames it to the target on commit(). Without a
/// commit the destructor removes it and leaves an older target as it was. A target that is a symbolic link is followed;
/// one that is a device or a pipe (/dev/stdout) is written in place, as there is nothing to rename.
///
/// Errors: ErrorCode::file with the target's path, what failed and the system's reason (missing or unwritable folder,
/// target is a folder, disk full).
class QUADRILLE_API AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// The part of another process' AtomicFile: `temporary` is that one's. write_at() and flush() alone may be used.
  AtomicFile(const std::string& path, const std::string& temporary);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  /// Appends `bytes` bytes.
  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Whether write_at() can be used: not on devices and pipes.
  bool positional() const { return !temporary_.empty(); }
  /// Writes `bytes` bytes at byte `offset` of the file; several threads may. Does not move the end that write() has.
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  /// Gives the file this size and, where the file system can, room for all of it: what the disk or a limit does not
  /// allow is an error at once, which says how many bytes it is about. Not on devices and pipes.
  void reserve(std::uint64_t bytes);
  /// Gives the file this size; new bytes are 0. Not on devices and pipes.
  void resize(std::uint64_t bytes);
  /// Lets the system begin to carry these bytes to the disk, so that commit() waits for less.
  void begin_writeback(std::uint64_t offset, std::uint64_t bytes);
  /// Flushes to disk.
  void flush();
  /// Flushes to disk and renames; nothing may be written afterwards.
  void commit();

  const std::string& path() const { return path_; }
  /// The file that is written; empty for devices and pipes.
  const std::string& temporary() const { return temporary_; }
  /// For a library that writes by itself. It must leave the offset at the end.
  int descriptor() const { return descriptor_; }
  /// Throws the error of a failed write: `reason` is an errno value.
  [[noreturn]] void fail(const std::string& what, int reason) const;

 private:
  template <class Put>
  void write_all(const void* data, std::size_t bytes, const Put& put);

  std::string path_;       ///< as the caller gave it
  std::string target_;     ///< with symbolic links followed
  std::string temporary_;  ///< empty when written in place
  bool owner_ = true;      ///< of the temporary file
  int descriptor_ = -1;
  bool written_ = false;
};

/// The whole of `text` as the file `path`.
QUADRILLE_API void write_file(const std::string& path, std::string_view text);

}  // namespace quadrille
