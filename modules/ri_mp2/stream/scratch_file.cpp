#include "modules/ri_mp2/stream/scratch_file.h"

#include "core/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace quadrille::ri_mp2 {

namespace {

namespace fs = std::filesystem;

/// A file that never had a name; -1 where the file system has none.
int open_nameless(const fs::path& folder) {
#ifdef O_TMPFILE
  return ::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#else
  return -1;
#endif
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

/// The name that a file has in messages, and for a while where the file system knows no nameless ones.
std::string in_a_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) ? (fs::path(path) / "ri_mp2.scratch").string() : path;
}

AtomicFile nameless(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored) && !fs::is_other(path, ignored)) {
    const Descriptor opened{open_nameless(fs::path(path).parent_path())};
    const std::string again = fmt::format("/proc/self/fd/{}", opened.number);
    if (opened.number >= 0 && fs::exists(again, ignored)) return AtomicFile(path, again);
  }
  const AtomicFile named(path);  // takes its name away
  if (!named.positional()) {
    throw Error(ErrorCode::file, "is a device or a pipe: B can be in a file only", Location{.file = path});
  }
  return AtomicFile(path, named.temporary());
}

}  // namespace

ScratchFile::ScratchFile(const std::string& path, std::int64_t bytes) : file_(nameless(in_a_folder(path))) {
  file_.reserve(std::uint64_t(bytes));
}

void ScratchFile::write(std::int64_t offset, const void* from, std::int64_t bytes) {
  file_.write_at(std::uint64_t(offset), from, std::size_t(bytes));
  file_.begin_writeback(std::uint64_t(offset), std::uint64_t(bytes));
}

void ScratchFile::read(std::int64_t offset, void* to, std::int64_t bytes) const {
  constexpr std::int64_t most = std::int64_t(1) << 30;
  for (std::int64_t done = 0; done < bytes;) {
    const ssize_t more = ::pread(file_.descriptor(), static_cast<char*>(to) + done,
                                 std::size_t(std::min(bytes - done, most)), off_t(offset + done));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) file_.fail("reading failed", more < 0 ? errno : EIO);
    done += more;
  }
}

}  // namespace quadrille::ri_mp2
