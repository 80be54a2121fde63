#include "input/run/folder_lock.h"

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
#include <string_view>

namespace quadrille {

namespace {

/// Whether the file of that name is still the one that is open: the run that held it may have removed it.
bool is_there(int descriptor, const std::string& file) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(file.c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

constexpr std::string_view beginning = "process ";  ///< of what a run writes into it

std::string text_of(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t length = ::pread(descriptor, text.data(), text.size() - 1, 0);
  return length > 0 ? text.data() : "";
}

/// Why a file is no lock of a run, so that nothing may be written into it; empty for one that is.
std::string foreign(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::strerror(errno);
  if (!S_ISREG(status.st_mode)) return "it is not a regular file";
  if (status.st_nlink > 1) return "it has another name, too (a hard link)";
  if (status.st_size > 0 && !text_of(descriptor).starts_with(beginning)) return "another program wrote it";
  return {};
}

}  // namespace

FolderLock::FolderLock(const std::filesystem::path& folder) : file_((folder / ".lock").string()) {
  const auto fail = [&](const std::string& message) {
    throw Error(ErrorCode::file, message, {.file = folder.string()});
  };
  while (descriptor_ < 0) {
    descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    const auto not_ours = [&](const std::string& why) {
      fail(
          fmt::format("the file .lock in it is not the lock of a run: {}; move it away, or choose another --out", why));
    };
    if (descriptor_ < 0 && errno == ELOOP) not_ours("it is a symbolic link");
    if (descriptor_ < 0) fail(fmt::format("cannot write into the output folder: {}", std::strerror(errno)));
    if (const std::string why = foreign(descriptor_); !why.empty()) {
      ::close(descriptor_);
      not_ours(why);
    }
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int reason = errno;
      std::string who = text_of(descriptor_);
      if (who.empty()) who = "an unknown process";
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
  const std::string who = fmt::format("{}{} on {}", beginning, ::getpid(), host_name());
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, who.data(), who.size(), 0);
}

bool FolderLock::held() const { return is_there(descriptor_, file_); }

FolderLock::~FolderLock() {
  if (held()) ::unlink(file_.c_str());
  ::close(descriptor_);
}

}  // namespace quadrille
