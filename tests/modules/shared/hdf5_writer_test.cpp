// HDF5 files that are written: whole or not at all, whenever the disk is full.
#include "core/error.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "tests/testing/file_size_limit.h"
#include "tests/testing/random_seed.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <thread>

namespace quadrille {
namespace {

using ::testing::AllOf;
using testing::FileSizeLimit;
using ::testing::HasSubstr;

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class Hdf5WriterTest : public ::testing::Test {
 protected:
  Hdf5WriterTest() {
    std::mt19937_64 random(testing::next_seed());
    std::normal_distribution<double> normal;
    for (double& x : array_.data) x = normal(random);
    write_hdf5(path_, "old", {{1}, {2.5}});
    old_ = bytes_of(path_);
  }
  /// Whatever HDF5 still holds of a file that failed: it crashes here if it cannot be rid of it.
  ~Hdf5WriterTest() override { EXPECT_GE(H5close(), 0); }

  void expect_failure(const std::function<void()>& write, const std::string& says) const {
    try {
      write();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::file);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr(path_), HasSubstr(says), HasSubstr("file too large"), HasSubstr("ulimit -f")));
    }
    EXPECT_EQ(bytes_of(path_), old_);
    EXPECT_EQ(folder_.count(), 1u);
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_.file("a.h5");
  Hdf5Array array_{{100, 300}, std::vector<double>(30000)};
  std::string old_;
};

TEST_F(Hdf5WriterTest, GroupsAreMadeOnTheWay) {
  {
    Hdf5Writer file(path_);
    file.attribute("program", "this test");
    file.texts("names", {"a", "longer"});
    for (const char* name : {"x/y/array", "x/other"}) {
      file.create(name, array_.dims);
      file.attribute("units", "none");
      file.attribute("number", std::int64_t(7));
      file.rows(array_.dims[0], array_.data.data());
    }
    file.commit();
  }
  const Hdf5Reader reader(path_);
  for (const char* name : {"x/y/array", "x/other"}) {
    EXPECT_EQ(reader.read(name, int(array_.dims.size())).data, array_.data);
  }
}

TEST_F(Hdf5WriterTest, ADiskThatIsTooFullIsFoundBeforeAnythingIsWritten) {
  for (const rlim_t limit : {100, 3000, 100000}) {
    expect_failure(
        [&] {
          const FileSizeLimit full(limit);
          write_hdf5(path_, "x", array_);
        },
        limit == 100 ? "" : "cannot be written, as it needs 24");
  }
}

TEST_F(Hdf5WriterTest, ADiskThatIsFullAmidRows) {
  expect_failure(
      [&] {
        std::optional<FileSizeLimit> full;  // ends after the writer
        Hdf5Writer writer(path_);
        writer.create("x", array_.dims);
        writer.rows(30, array_.data.data());
        full.emplace(100000);
        writer.rows(70, array_.data.data() + 9000);
      },
      "writing failed");
}

TEST_F(Hdf5WriterTest, ADiskThatIsFullWhenTheFileIsClosed) {
  expect_failure(
      [&] {
        std::optional<FileSizeLimit> full;
        Hdf5Writer writer(path_);
        writer.create("x", array_.dims);
        writer.rows(100, array_.data.data());
        full.emplace(10);
        writer.commit();
      },
      "writing failed");
}

TEST_F(Hdf5WriterTest, ADiskThatIsFullWhenTheFileIsGivenUp) {
  std::optional<FileSizeLimit> full;
  {
    Hdf5Writer writer(path_);
    writer.create("x", array_.dims);
    full.emplace(10);
  }
  EXPECT_EQ(bytes_of(path_), old_);
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(Hdf5WriterTest, WhatIsWrittenIsReadAndHasNoRoomLeft) {
  write_hdf5(path_, {{"x", array_}, {"none", {{0, 3}, {}}}, {"y", {{2}, {1, 2}}}});
  const Hdf5Reader file(path_);
  EXPECT_EQ(file.read("x", 2).data, array_.data);
  EXPECT_EQ(file.read("y", 1).data, (std::vector<double>{1, 2}));
  EXPECT_LT(std::filesystem::file_size(path_), array_.data.size() * 8 + 10000);
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(Hdf5WriterTest, APipeGetsAWholeFile) {
  const std::string pipe = folder_.file("pipe"), copy = folder_.file("copy.h5");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread reader([&] { std::ofstream(copy, std::ios::binary) << bytes_of(pipe); });
  write_hdf5(pipe, "x", array_);
  reader.join();
  EXPECT_EQ(Hdf5Reader(copy).read("x", 2).data, array_.data);
}

}  // namespace
}  // namespace quadrille
