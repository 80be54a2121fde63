// A file open for reading at any offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadrille {

/// Errors: ErrorCode::file naming the path when it is missing, a folder, not a regular file or unreadable.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Exactly `bytes` bytes from `offset`; an error when the file has become shorter meanwhile.
  void read(std::uint64_t offset, void* to, std::size_t bytes) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace quadrille
