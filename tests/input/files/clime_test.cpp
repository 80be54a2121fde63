// The same files whether c-lime or the built-in codec moves the bytes. Skipped when built without c-lime.
#include "input/files/gauge_file.h"
#include "input/files/propagator_file.h"
#include "lime_testing.h"
#include "tests/input/host_propagator.h"
#include "tests/testing/file_size_limit.h"

#include <cstdio>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;

class ClimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!lime_has_clime()) GTEST_SKIP() << "built without c-lime (CMake package CLime)";
  }
  TemporaryFolder folder_;
};

TEST_F(ClimeTest, WritesTheSameBytes) {
  const auto written = [this](LimeMover mover, const std::string& name) {
    LimeOutput file(folder_.file(name), mover);
    file.record("first-record", "abc", true, false);
    file.record("empty", "", false, false);
    file.begin_record("second", 1000, false, true);
    for (int i = 0; i < 10; ++i) file.write(std::string(100, char('a' + i)).data(), 100);
    file.end_record();
    file.record("alone", "hello", true, true);
    file.commit();
    return read_bytes(folder_.file(name));
  };
  const std::string ours = written(LimeMover::builtin, "a"), theirs = written(LimeMover::clime, "b");
  EXPECT_EQ(raw_records(theirs).size(), 4u);
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(scan_lime(folder_.file("b")).size(), 4u);
}

TEST_F(ClimeTest, ReadsTheSameBytesInAnyOrder) {
  auto generator = fresh_generator();
  write_gauge_file(folder_.file("a"), random_links({2, 4, 6, 4}, generator), {.mover = LimeMover::builtin});
  const LimeInput ours(folder_.file("a"), LimeMover::builtin), theirs(folder_.file("a"), LimeMover::clime);
  for (int trial = 0; trial < 200; ++trial) {
    const LimeRecord& record = ours.records()[generator() % ours.records().size()];
    const std::uint64_t offset = generator() % record.length, bytes = generator() % (record.length - offset + 1);
    std::string one(std::size_t(bytes), '1'), two(std::size_t(bytes), '2');
    ours.read(record, offset, one.data(), one.size());
    theirs.read(record, offset, two.data(), two.size());
    ASSERT_EQ(one, two) << record.type << " " << offset << " " << bytes;
  }
}

TEST_F(ClimeTest, FieldsCrossBetweenTheMovers) {
  auto generator = fresh_generator();
  const HostLinks links = random_links({4, 2, 6, 2}, generator);
  const HostPropagator propagator = random_propagator({4, 2, 6, 2}, generator);
  for (const auto& [writes, reads] :
       {std::pair{LimeMover::builtin, LimeMover::clime}, std::pair{LimeMover::clime, LimeMover::builtin}}) {
    write_gauge_file(folder_.file("a"), links, {.mover = writes});
    EXPECT_EQ(read_gauge_file(folder_.file("a"), {.mover = reads}).links->host_links().data, links.data);
    write_propagator_file(folder_.file("p"), propagator, {}, {.mover = writes});
    EXPECT_EQ(read_propagator_file(folder_.file("p"), {.mover = reads}).propagator.data, propagator.data);
  }
}

TEST_F(ClimeTest, ReadsTheRealFiles) {
  QUADRILLE_DATA_FILE(weak, "weak_field.lime");
  for (const std::string name :
       {"weak_field.lime", "unity.lime", "uneven.ildg", "lat.sample.l4444.ildg", "lat.sample.l4444.scidac"}) {
    const GaugeFile ours = read_gauge_file(*data_file(name), {.mover = LimeMover::builtin});
    const GaugeFile theirs = read_gauge_file(*data_file(name), {.mover = LimeMover::clime});
    EXPECT_EQ(ours.links->host_links().data, theirs.links->host_links().data) << name;
    EXPECT_EQ(theirs.info.checksum.state, ChecksumVerdict::State::ok) << name;
  }
}

TEST_F(ClimeTest, DamagedFilesAreStoppedByTheScan) {
  auto generator = fresh_generator();
  write_gauge_file(folder_.file("a"), random_links({2, 2, 2, 2}, generator));
  const std::string bytes = read_bytes(folder_.file("a"));
  fs::resize_file(folder_.file("a"), bytes.size() - 200);
  expect_error([this] { read_gauge_file(folder_.file("a"), {.mover = LimeMover::clime}); }, {"record ", "byte "});
}

TEST_F(ClimeTest, AFullDiskLeavesNothing) {
  auto generator = fresh_generator();
  const HostLinks links = random_links({4, 4, 4, 4}, generator);
  if (fs::exists("/dev/full"))
    expect_error([&] { write_gauge_file("/dev/full", links, {.mover = LimeMover::clime}); },
                 {"/dev/full", "no space left on device"});
  const auto write = [&] {
    const FileSizeLimit full(50000);
    write_gauge_file(folder_.file("a"), links, {.mover = LimeMover::clime});
  };
  expect_error(write, {folder_.file("a"), "file too large"});
  EXPECT_EQ(folder_.count(), 0u);
}

TEST_F(ClimeTest, LimeContentsReadsOurFiles) {
#ifndef QUADRILLE_LIME_CONTENTS
  GTEST_SKIP() << "CMake found no program lime_contents";
#else
  auto generator = fresh_generator();
  write_gauge_file(folder_.file("a"), random_links({2, 4, 2, 6}, generator), {.mover = LimeMover::builtin});
  const std::string command = std::string(QUADRILLE_LIME_CONTENTS) + " " + folder_.file("a");
  std::FILE* pipe = ::popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char part[4096];
  for (std::size_t got; (got = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, got);
  EXPECT_EQ(::pclose(pipe), 0);
  for (const RawRecord& record : raw_records(read_bytes(folder_.file("a")))) EXPECT_THAT(text, HasSubstr(record.type));
  EXPECT_THAT(text, HasSubstr("<lx>2</lx><ly>4</ly><lz>2</lz><lt>6</lt>"));
#endif
}

}  // namespace
}  // namespace quadrille
