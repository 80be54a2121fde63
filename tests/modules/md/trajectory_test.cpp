// Trajectories byte by byte, and those that go on after an interruption.
#include "modules/md/dynamics/trajectory.h"
#include "core/error.h"
#include "tests/testing/file_size_limit.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace quadrille::md {
namespace {

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Reads a file from its beginning on.
class Bytes {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  template <class T>
  T next() {
    T value{};
    EXPECT_LE(at_ + sizeof value, bytes_.size());
    if (at_ + sizeof value <= bytes_.size()) std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string text(std::size_t count) {
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

constexpr std::array<double, 3> box{7, 8, 9.5};
const std::vector<std::int32_t> types{0, 1, 0};
const std::vector<double> one{1, 2, 3, 4, 5, 6, -7.25, 8, 9}, two{1.5, 2, 3, 4, 5, 6, 7, 8, 1e-3};

TEST(Trajectory, DcdIsWhatItsFormatSays) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("a.dcd");
  Trajectory trajectory(path, types, {100, 50, 0.004});
  trajectory.add(one, box, 100);
  trajectory.add(two, box, 150);
  Bytes bytes(contents(path));
  EXPECT_EQ(bytes.next<std::int32_t>(), 84);
  EXPECT_EQ(bytes.text(4), "CORD");
  EXPECT_EQ(bytes.next<std::int32_t>(), 2);    // frames
  EXPECT_EQ(bytes.next<std::int32_t>(), 100);  // the first step
  EXPECT_EQ(bytes.next<std::int32_t>(), 50);   // steps between frames
  for (int n = 0; n < 6; ++n) EXPECT_EQ(bytes.next<std::int32_t>(), 0);
  EXPECT_EQ(bytes.next<float>(), 0.004f);
  EXPECT_EQ(bytes.next<std::int32_t>(), 1);  // frames have a box
  for (int n = 0; n < 8; ++n) EXPECT_EQ(bytes.next<std::int32_t>(), 0);
  EXPECT_EQ(bytes.next<std::int32_t>(), 24);
  EXPECT_EQ(bytes.next<std::int32_t>(), 84);
  EXPECT_EQ(bytes.next<std::int32_t>(), 84);
  EXPECT_EQ(bytes.next<std::int32_t>(), 1);
  EXPECT_THAT(bytes.text(80), ::testing::StartsWith("Quadrille"));
  EXPECT_EQ(bytes.next<std::int32_t>(), 84);
  EXPECT_EQ(bytes.next<std::int32_t>(), 4);
  EXPECT_EQ(bytes.next<std::int32_t>(), 3);
  EXPECT_EQ(bytes.next<std::int32_t>(), 4);
  for (const std::vector<double>* frame : {&one, &two}) {
    EXPECT_EQ(bytes.next<std::int32_t>(), 48);
    for (const double edge : {7.0, 90.0, 8.0, 90.0, 90.0, 9.5}) EXPECT_EQ(bytes.next<double>(), edge);
    EXPECT_EQ(bytes.next<std::int32_t>(), 48);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(bytes.next<std::int32_t>(), 12);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(bytes.next<float>(), float((*frame)[3 * i + k]));
      EXPECT_EQ(bytes.next<std::int32_t>(), 12);
    }
  }
  EXPECT_EQ(bytes.left(), 0u);
}

TEST(Trajectory, XyzNamesBoxStepAndTypes) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.file("a.xyz");
  Trajectory(path, types, {0, 1, 0.5}).add(one, box, 3);
  EXPECT_EQ(contents(path),
            "3\nLattice=\"7 0 0 0 8 0 0 0 9.5\" Properties=species:S:1:pos:R:3 step=3 time=1.5\n"
            "T1 1 2 3\nT2 4 5 6\nT1 -7.25 8 9\n");
}

// What was written after the state was kept is written again, once.
TEST(Trajectory, GoesOnWhereAStateWasKept) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"a.dcd", "a.xyz"}) {
    const std::string path = folder.file(name);
    Trajectory whole(folder.file(std::string("whole_") + name), types, {0, 10, 0.5});
    whole.add(one, box, 0);
    whole.add(two, box, 10);
    whole.add(one, box, 20);
    TrajectoryWritten kept;
    {
      Trajectory first(path, types, {0, 10, 0.5});
      first.add(one, box, 0);
      kept = first.written();
      first.add(two, box, 10);
      first.add(two, box, 20);
    }
    Trajectory second(path, types, {0, 10, 0.5}, kept);
    second.add(two, box, 10);
    second.add(one, box, 20);
    EXPECT_EQ(contents(path), contents(folder.file(std::string("whole_") + name))) << name;
    std::filesystem::resize_file(path, 10);
    EXPECT_THROW(Trajectory(path, types, {0, 10, 0.5}, kept), Error);
  }
}

// A frame that a full disk cuts off is taken back: the file is that of the whole frames, and can be gone on with.
TEST(Trajectory, KeepsItsWholeFramesOnAFullDisk) {
  const testing::TemporaryFolder folder;
  for (const char* name : {"a.dcd", "a.xyz"}) {
    const std::string path = folder.file(name);
    Trajectory trajectory(path, types, {0, 10, 0.5});
    trajectory.add(one, box, 0);
    const std::string before = contents(path);
    const TrajectoryWritten written = trajectory.written();
    {
      const testing::FileSizeLimit limit(before.size() + 40);
      try {
        trajectory.add(two, box, 10);
        ADD_FAILURE() << name;
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), ::testing::HasSubstr("frame 2 cannot be written; the file keeps the 1 before it"));
        EXPECT_THAT(error.what(), ::testing::HasSubstr(name));
      }
    }
    EXPECT_EQ(contents(path), before) << name;
    EXPECT_EQ(trajectory.written().bytes, written.bytes);
    trajectory.add(two, box, 10);
    EXPECT_GT(contents(path).size(), before.size());
    EXPECT_EQ(trajectory.written().frames, 2);
  }
  const testing::FileSizeLimit limit(50);
  EXPECT_THROW(Trajectory(folder.file("b.dcd"), types, {}), Error);
  EXPECT_FALSE(std::filesystem::exists(folder.file("b.dcd"))) << "not even its header fits";
}

TEST(Trajectory, RefusesOtherFormsAndFoldersThatAreNotThere) {
  const testing::TemporaryFolder folder;
  EXPECT_THROW(trajectory_form("a.pdb"), Error);
  EXPECT_THROW(Trajectory(folder.file("none/a.xyz"), types, {}), Error);
  Trajectory trajectory(folder.file("a.xyz"), types, {});
  EXPECT_THROW(trajectory.add(std::vector<double>(6), box, 0), Error);
}

}  // namespace
}  // namespace quadrille::md
