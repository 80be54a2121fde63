#include "modules/shared/hdf5/hdf5_file.h"

#include "core/error.h"
#include "tests/testing/hdf5_testing.h"
#include "tests/testing/random_seed.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

namespace quadrille {
namespace {

using testing::add_dataset;
using ::testing::HasSubstr;

class Hdf5 : public ::testing::Test {
 protected:
  std::string what(const std::string& dataset, int rank) const {
    try {
      (void)Hdf5Reader(path_).read(dataset, rank);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_.file("a.h5");
};

TEST_F(Hdf5, ReadsWhatWasWritten) {
  std::mt19937_64 random(testing::next_seed());
  std::normal_distribution<double> normal;
  std::vector<double> data(24);
  for (double& x : data) x = normal(random);
  add_dataset(path_, "x", {2, 3, 4}, data);
  add_dataset(path_, "big endian single", {4, 6}, data, H5T_IEEE_F32BE);
  const Hdf5Reader file(path_);
  const Hdf5Array x = file.read("x", 3);
  EXPECT_EQ(x.dims, (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(x.data, data);
  EXPECT_EQ(file.dims("big endian single", 2), (std::vector<std::int64_t>{4, 6}));
  const Hdf5Array single = file.read("big endian single", 2);
  for (std::size_t k = 0; k < 24; ++k) EXPECT_EQ(single.data[k], double(float(data[k])));
  EXPECT_EQ(file.attribute("none"), std::nullopt);
}

/// A host that uses HDF5 itself keeps what it does with errors.
TEST_F(Hdf5, ThePrintingOfErrorsStaysAsItWas) {
  const auto host = [](hid_t, void*) -> herr_t { return 0; };
  H5E_auto2_t before = nullptr, after = nullptr;
  void *data = nullptr, *data_after = nullptr;
  ASSERT_GE(H5Eget_auto2(H5E_DEFAULT, &before, &data), 0);
  ASSERT_GE(H5Eset_auto2(H5E_DEFAULT, host, &folder_), 0);
  write_hdf5(path_, "x", {{2}, {1, 2}});
  EXPECT_THAT(what("y", 1), HasSubstr("has no dataset"));
  EXPECT_EQ(Hdf5Reader(path_).attribute("none"), std::nullopt);
  ASSERT_GE(H5Eget_auto2(H5E_DEFAULT, &after, &data_after), 0);
  EXPECT_EQ(after, H5E_auto2_t(host));
  EXPECT_EQ(data_after, &folder_);
  ASSERT_GE(H5Eset_auto2(H5E_DEFAULT, before, data), 0);
}

TEST_F(Hdf5, WhatIsWrongIsSaidWithItsPlace) {
  add_dataset(path_, "x", {2, 3}, {1, 2, 3, 4, std::numeric_limits<double>::infinity(), 6});
  add_dataset(path_, "whole", {2}, {1, 2}, H5T_STD_I32LE);
  EXPECT_THAT(what("x", 2), HasSubstr("element [1, 1] is inf, must be finite"));
  EXPECT_THAT(what("x", 3), HasSubstr("dataset x: must have 3 dimensions, but has 2"));
  EXPECT_THAT(what("y", 2), HasSubstr("a.h5: has no dataset 'y'; it has whole, x"));
  EXPECT_THAT(what("whole", 1), HasSubstr("must hold floating-point numbers"));
  EXPECT_THAT(what("x", 2), HasSubstr(path_));
  std::ofstream(folder_.file("text.h5")) << "no HDF5\n";
  EXPECT_THROW(Hdf5Reader(folder_.file("text.h5")), Error);
  EXPECT_THROW(Hdf5Reader(folder_.file("missing.h5")), Error);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  EXPECT_THROW(Hdf5Reader(path_).read("x", 2), Error);
}

/// Each byte sequence `from` of the file becomes `to`.
void replace_bytes(const std::string& path, const std::string& from, const std::string& to) {
  ASSERT_EQ(from.size(), to.size());
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  std::string bytes = text.str();
  std::size_t found = 0;
  for (std::size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + from.size()), ++found) {
    bytes.replace(at, from.size(), to);
  }
  ASSERT_GT(found, 0u);
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string little_endian(std::uint64_t number) {
  std::string bytes;
  for (int k = 0; k < 8; ++k, number >>= 8) bytes += char(number & 0xff);
  return bytes;
}

// HDF5 reads and writes beyond its memory where a type's size is not that of its numbers.
TEST_F(Hdf5, ATypeOfAnImpossibleSizeIsAnError) {
  add_dataset(path_, "x", {3, 5}, std::vector<double>(15, 1.5), H5T_IEEE_F64LE, {2, 5});
  const std::string type("\x11\x20\x3f\0\x08\0\0\0", 8);
  replace_bytes(path_, type, std::string("\x11\x20\x3f\0\x08\x08\0\0", 8));
  EXPECT_THAT(what("x", 2), HasSubstr("dataset x: holds floating-point numbers of 2056 bytes"));
  EXPECT_THROW((void)Hdf5Reader(path_).dims("x", 2), Error);
}

TEST_F(Hdf5, ExtentsThatTheFileCannotHoldAreAnError) {
  const std::string before = little_endian(1237);
  for (const bool chunks : {false, true}) {
    const std::string path = folder_.file(chunks ? "chunks.h5" : "whole.h5");
    add_dataset(path, "x", {1237}, std::vector<double>(1237, 1.5), H5T_IEEE_F64LE,
                chunks ? std::vector<hsize_t>{100} : std::vector<hsize_t>{});
    EXPECT_EQ(Hdf5Reader(path).read("x", 1).data.size(), 1237u);
    for (const std::uint64_t extent : {std::uint64_t(1) << 20, std::uint64_t(1) << 40, std::uint64_t(1) << 62}) {
      const std::string damaged = folder_.file("damaged.h5");
      std::filesystem::copy_file(path, damaged, std::filesystem::copy_options::overwrite_existing);
      replace_bytes(damaged, before, little_endian(extent));
      EXPECT_THROW((void)Hdf5Reader(damaged).read("x", 1), Error) << chunks << ' ' << extent;
      EXPECT_THROW((void)Hdf5Reader(damaged).dims("x", 1), Error) << chunks << ' ' << extent;
    }
  }
}

TEST_F(Hdf5, CompressedArraysAreRead) {
  std::vector<double> data(35, 0.0);
  data[17] = 3.25;
  add_dataset(path_, "x", {5, 7}, data, H5T_IEEE_F32LE, {2, 3});
  EXPECT_EQ(Hdf5Reader(path_).read("x", 2).data, data);
}

/// libhdf5 would read behind its end.
TEST_F(Hdf5, AChunkThatIsTooShortIsAnError) {
  add_dataset(path_, "x", {4, 6}, std::vector<double>(24, 1.5), H5T_IEEE_F64LE, {2, 6});
  const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), set = H5Dopen2(file, "x", H5P_DEFAULT);
  const hsize_t second[] = {2, 0};
  constexpr unsigned without_filters = 3;
  const std::vector<char> bytes(95, 1);
  ASSERT_GE(H5Dwrite_chunk(set, H5P_DEFAULT, without_filters, second, bytes.size(), bytes.data()), 0);
  H5Dclose(set);
  H5Fclose(file);
  EXPECT_THAT(what("x", 2), HasSubstr("dataset x: its chunk 1 has 95 of 96 bytes: the file is damaged"));
}

// One double would be given room, and all of them written.
TEST_F(Hdf5, AnAttributeOfSeveralNumbersIsNone) {
  add_dataset(path_, "x", {1}, {1});
  const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  for (const hsize_t count : {hsize_t(1), hsize_t(4000)}) {
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const char* name = count == 1 ? "one" : "many";
    const hid_t attribute = H5Acreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_DOUBLE, std::vector<double>(count, 2.5).data()), 0);
    H5Aclose(attribute);
    H5Sclose(space);
  }
  H5Fclose(file);
  EXPECT_EQ(Hdf5Reader(path_).attribute("one"), 2.5);
  EXPECT_EQ(Hdf5Reader(path_).attribute("many"), std::nullopt);
}

}  // namespace
}  // namespace quadrille
