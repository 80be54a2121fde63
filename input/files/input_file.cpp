#include "input/files/input_file.h"

#include "core/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace quadrille {

InputFile::InputFile(const std::string& path) : path_(path) {
  const auto fail = [&path](const std::string& message) { throw Error(ErrorCode::file, message, {.file = path}); };
  struct stat status {};
  if (path.empty()) fail("the name of the file is empty");
  if (::stat(path.c_str(), &status) != 0)
    fail(errno == ENOENT ? "no such file" : fmt::format("cannot read it: {}", std::strerror(errno)));
  if (S_ISDIR(status.st_mode)) fail("this is a folder; give the name of a file");
  if (!S_ISREG(status.st_mode)) fail("this is not a regular file; pipes and devices cannot be read");
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail(fmt::format("cannot read it: {}", std::strerror(errno)));
  size_ = std::uint64_t(status.st_size);
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::uint64_t offset, void* to, std::size_t bytes) const {
  constexpr std::size_t most = std::size_t(1) << 30;
  char* place = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done = ::pread(descriptor_, place, std::min(bytes, most), off_t(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0)
      throw Error(
          ErrorCode::file,
          done < 0
              ? fmt::format("reading failed: {}", std::strerror(errno))
              : fmt::format("{} more bytes should follow, but the file ends: it was changed while being read", bytes),
          {.file = path_, .byte = std::int64_t(offset)});
    place += done;
    offset += std::uint64_t(done);
    bytes -= std::size_t(done);
  }
}

}  // namespace quadrille
