#include "core/system/atomic_file.h"

#include "core/error.h"
#include "tests/testing/file_size_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

using quadrille::AtomicFile;
using quadrille::Error;
using quadrille::ErrorCode;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class AtomicFileTest : public ::testing::Test {
 protected:
  AtomicFileTest() {
    std::string name = (fs::temp_directory_path() / "quadrille-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return std::size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string content(const std::string& name) {
    std::ifstream stream(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  template <class Body>
  static std::string message_of(Body body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::file);
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, IsThereOnlyAfterTheCommit) {
  AtomicFile file(path("a.json"));
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(fs::exists(path("a.json")));
  file.commit();
  EXPECT_EQ(content(path("a.json")), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingWithoutACommit) {
  { AtomicFile(path("a.json")).write("half"); }
  EXPECT_EQ(files(), 0u);
}

TEST_F(AtomicFileTest, KeepsTheOldFileUntilTheCommit) {
  quadrille::write_file(path("a.json"), "old");
  { AtomicFile(path("a.json")).write("new"); }
  EXPECT_EQ(content(path("a.json")), "old");
  quadrille::write_file(path("a.json"), "new");
  EXPECT_EQ(content(path("a.json")), "new");
}

TEST_F(AtomicFileTest, KeepsThePermissionsOfAReplacedFile) {
  quadrille::write_file(path("a.json"), "old");
  fs::permissions(path("a.json"), fs::perms(0640));
  quadrille::write_file(path("a.json"), "new");
  EXPECT_EQ(fs::status(path("a.json")).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, FollowsASymbolicLink) {
  quadrille::write_file(path("real.json"), "old");
  fs::create_symlink("real.json", path("link.json"));
  quadrille::write_file(path("link.json"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(content(path("real.json")), "new");
}

TEST_F(AtomicFileTest, FollowsASymbolicLinkToWhatIsNotThereYet) {
  fs::create_directory(path("sub"));
  fs::create_symlink("sub/second.json", path("first.json"));
  fs::create_symlink("real.json", path("sub/second.json"));
  quadrille::write_file(path("first.json"), "new");
  EXPECT_TRUE(fs::is_symlink(path("first.json")));
  EXPECT_TRUE(fs::is_symlink(path("sub/second.json")));
  EXPECT_EQ(content(path("sub/real.json")), "new");
}

// As /dev/stdout is in `quadrille ... | less`: a link to "pipe:[123]", which is no path.
TEST_F(AtomicFileTest, WritesIntoAPipeThatTheSystemAloneCanFollow) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  quadrille::write_file("/proc/self/fd/" + std::to_string(ends[1]), "text");
  std::string read(4, ' ');
  EXPECT_EQ(::read(ends[0], read.data(), read.size()), 4);
  EXPECT_EQ(read, "text");
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(AtomicFileTest, RefusesLinksThatLeadToEachOther) {
  fs::create_symlink("b.json", path("a.json"));
  fs::create_symlink("a.json", path("b.json"));
  EXPECT_THAT(message_of([&] { quadrille::write_file(path("a.json"), "new"); }), HasSubstr("symbolic links"));
  EXPECT_TRUE(fs::is_symlink(path("a.json")));
}

TEST_F(AtomicFileTest, TwoWritersOfOneNameDoNotMeet) {
  AtomicFile first(path("a.json")), second(path("a.json"));
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(content(path("a.json")), "first");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, NamesAFolderThatIsMissing) {
  const std::string target = path("missing/a.json");
  const std::string message = message_of([&] { AtomicFile file(target); });
  EXPECT_THAT(message, HasSubstr(target));
  EXPECT_THAT(message, HasSubstr("no such file or directory; its folder must exist"));
}

TEST_F(AtomicFileTest, NamesAFolderThatIsAFile) {
  quadrille::write_file(path("plain"), "x");
  EXPECT_THAT(message_of([&] { AtomicFile file(path("plain/a.json")); }), HasSubstr("not a directory"));
}

TEST_F(AtomicFileTest, RefusesAFolderAsTarget) {
  EXPECT_THAT(message_of([&] { AtomicFile file(folder_.string()); }), HasSubstr("is a directory"));
}

TEST_F(AtomicFileTest, NamesAFolderThatCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(path("closed"));
  fs::permissions(path("closed"), fs::perms(0500));
  const std::string message = message_of([&] { AtomicFile file(path("closed/a.json")); });
  EXPECT_THAT(message, HasSubstr("Permission denied; choose a folder with write permission"));
}

TEST_F(AtomicFileTest, SaysThatTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const std::string message = message_of([] {
    AtomicFile file("/dev/full");
    file.write("text");
    file.commit();
  });
  EXPECT_THAT(message, HasSubstr("/dev/full: writing failed"));
  EXPECT_THAT(message, HasSubstr("no space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(AtomicFileTest, LeavesNothingWhenWritingFailsHalfway) {
  quadrille::write_file(path("a.json"), "old");
  const std::string message = message_of([&] {
    const quadrille::testing::FileSizeLimit full(1000);
    quadrille::write_file(path("a.json"), std::string(5000, 'x'));
  });
  EXPECT_THAT(message, HasSubstr("file too large; the incomplete file was removed"));
  EXPECT_EQ(content(path("a.json")), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, TakesItsRoomAtOnceOrSaysHowMuchItNeeds) {
  const std::string message = message_of([&] {
    AtomicFile file(path("a.bin"));
    const quadrille::testing::FileSizeLimit full(1000);
    file.reserve(5000);
  });
  EXPECT_THAT(message, HasSubstr(path("a.bin") + ": cannot be written, as it needs 5000 bytes: file too large"));
  EXPECT_EQ(files(), 0u);
  AtomicFile file(path("a.bin"));
  file.reserve(5000);
  EXPECT_EQ(fs::file_size(file.temporary()), 5000u);
  file.write_at(2, "x", 1);
  file.resize(4);
  file.commit();
  EXPECT_EQ(content(path("a.bin")), std::string("\0\0x\0", 4));
}

}  // namespace
