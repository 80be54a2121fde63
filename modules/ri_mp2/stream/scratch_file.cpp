#include "modules/ri_mp2/stream/scratch_file.h"

#include "core/error.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace quadrille::ri_mp2 {

ScratchFile::ScratchFile(const std::string& path, std::int64_t bytes) : file_(path) {
  if (!file_.positional()) {
    throw Error(ErrorCode::file, "is a device or a pipe: B can be in a file only", Location{.file = path});
  }
  if (::unlink(file_.temporary().c_str()) != 0) file_.fail("its name cannot be removed", errno);
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
