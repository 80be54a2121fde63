#include "core/system/atomic_file.h"

#include "core/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

std::string temporary_name(const fs::path& target) {
  static std::atomic<int> counter{0};
  const std::string name = fmt::format(".{}.{}.{}.part", target.filename().string(), ::getpid(), counter++);
  return (target.parent_path() / name).string();
}

/// What would be right, for the reasons that have a usual remedy.
std::string advice(int reason) {
  switch (reason) {
    case ENOENT: return "; its folder must exist";
    case ENOTDIR: return "; part of its path is a file, not a folder";
    case EACCES:
    case EPERM:
    case EROFS: return "; choose a folder with write permission";
    case ENOSPC:
    case EDQUOT: return "; free some space or choose another folder";
    case EFBIG: return "; the limit on file sizes is too low (see ulimit -f)";
    default: return "";
  }
}

}  // namespace

// std::filesystem::weakly_canonical() stops at a link to what is not there.
std::string end_of_links(const std::string& path) {
  fs::path end = path;
  std::error_code failed;
  if (fs::is_other(end, failed)) return path;  // /dev/stdout may lead to "pipe:[123]", which only the system can follow
  for (int links = 0; fs::is_symlink(end, failed); ++links) {
    const fs::path next = fs::read_symlink(end, failed);
    if (failed || links == 40) return path;  // a circle, for example: to open it is an error
    end = end.parent_path() / next;
  }
  return end.string();
}

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(end_of_links(path)) {
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail("cannot write it", EISDIR);
  if (path.empty()) fail("cannot write it", ENOENT);
  std::error_code ignored;
  if (!exists && fs::is_symlink(target_, ignored)) fail("cannot write it", ELOOP);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot write it", errno);
    return;
  }
  // A leftover of a killed process with the same number may hold the first name.
  for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
    temporary_ = temporary_name(target_);
    descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("cannot create it", errno);
  }
  if (exists) (void)::fchmod(descriptor_, status.st_mode & 0777);  // a replaced file keeps its permissions
}

AtomicFile::AtomicFile(const std::string& path, const std::string& temporary)
    : path_(path), target_(path), temporary_(temporary), owner_(false) {
  descriptor_ = ::open(temporary_.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot write the file that rank 0 has made", errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty() && owner_) ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const std::string& what, int reason) const {
  std::string text = std::strerror(reason);
  text[0] = char(std::tolower(static_cast<unsigned char>(text[0])));
  const char* left = written_ && !temporary_.empty() ? "; the incomplete file was removed" : "";
  throw Error(ErrorCode::file, fmt::format("{}: {}{}{}", what, text, left, advice(reason)), {.file = path_});
}

// Calls put(from, at most so many bytes), which gives what write(2) does, until all are written.
template <class Put>
void AtomicFile::write_all(const void* data, std::size_t bytes, const Put& put) {
  constexpr std::size_t most = std::size_t(1) << 30;
  const char* from = static_cast<const char*>(data);
  written_ = true;
  while (bytes > 0) {
    const ssize_t done = put(from, std::min(bytes, most));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail("writing failed", errno);
    from += done;
    bytes -= std::size_t(done);
  }
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  write_all(data, bytes, [this](const char* from, std::size_t count) { return ::write(descriptor_, from, count); });
}

void AtomicFile::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  const char* const start = static_cast<const char*>(data);
  write_all(data, bytes, [&](const char* from, std::size_t count) {
    return ::pwrite(descriptor_, from, count, off_t(offset) + (from - start));
  });
}

void AtomicFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return resize(0);
  int reason = 0;
  do {
    reason = ::fallocate(descriptor_, 0, 0, off_t(bytes)) == 0 ? 0 : errno;
  } while (reason == EINTR);
  if (reason == EOPNOTSUPP || reason == ENOSYS) reason = ::ftruncate(descriptor_, off_t(bytes)) == 0 ? 0 : errno;
  if (reason != 0) fail(fmt::format("cannot be written, as it needs {} bytes", bytes), reason);
}

void AtomicFile::resize(std::uint64_t bytes) {
  if (::ftruncate(descriptor_, off_t(bytes)) != 0) fail("writing failed", errno);
}

void AtomicFile::begin_writeback(std::uint64_t offset, std::uint64_t bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
  if (positional()) (void)::sync_file_range(descriptor_, off_t(offset), off_t(bytes), SYNC_FILE_RANGE_WRITE);
#endif
}

void AtomicFile::flush() {
  // Devices and pipes have nothing to flush and say EINVAL or EROFS.
  if (::fsync(descriptor_) != 0 && !temporary_.empty()) fail("writing failed", errno);
}

void AtomicFile::commit() {
  if (descriptor_ < 0 || !owner_)
    throw Error(ErrorCode::internal, "an output file was committed twice", {.file = path_});
  flush();
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail("writing failed", errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot give the finished file its name", errno);
  temporary_.clear();
  const fs::path parent = fs::path(target_).parent_path();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    (void)::fsync(folder);  // the name is on disk as well; a file system that cannot do this is no error
    ::close(folder);
  }
}

void write_file(const std::string& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace quadrille
