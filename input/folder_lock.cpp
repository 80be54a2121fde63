#include "input/folder_lock.h"

#include "core/error.h"
#include "core/system/host_name.h"
#include "core/system/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace quadrille {

namespace {

/// Whether the file of that name is still the one that is open: the run that held it may have removed it.
bool is_there(int descriptor, const std::string& file) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

std::string holder(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t length = ::pread(descriptor, text.data(), text.size() - 1, 0);
  return length > 0 ? text.data() : "an unknown process";
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : file_((folder / ".lock").string()) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorCode::file, message, {.file = folder.string()});
  };
  while (descriptor_ < 0) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(fmt::format("cannot write into the output folder: {}", std::strerror(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      const std::string who = holder(descriptor_);
      if (reason != EWOULDBLOCK) {
        log().warn("{}: cannot be locked ({}): make sure that no second run uses this folder", file_,
                   std::strerror(reason));
        return;
      }
      ::close(descriptor_);
      fail(fmt::format("another run is using this folder ({}): wait until it ends, or choose another --out", who));
    }
    if (is_there(descriptor_, file_)) break;
    ::close(descriptor_);
    descriptor_ = -1;
  }
  const std::string who = fmt::format("process {} on {}", ::getpid(), host_name());
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, who.data(), who.size(), 0);
}

FolderLock::~FolderLock() {
  ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace quadrille
