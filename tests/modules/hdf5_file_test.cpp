#include "modules/hdf5_file.h"

#include "core/error.h"
#include "tests/hdf5_testing.h"
#include "tests/random_seed.h"
#include "tests/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

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

TEST_F(Hdf5, WhatIsWrongIsSaidWithItsPlace) {
  add_dataset(path_, "x", {2, 3}, {1, 2, 3, 4, std::numeric_limits<double>::infinity(), 6});
  add_dataset(path_, "whole", {2}, {1, 2}, H5T_STD_I32LE);
  EXPECT_THAT(what("x", 2), HasSubstr("element [1, 1] is inf, must be finite"));
  EXPECT_THAT(what("x", 3), HasSubstr("must have 3 indices, has 2"));
  EXPECT_THAT(what("y", 2), HasSubstr(": record y: there is no such dataset"));
  EXPECT_THAT(what("whole", 1), HasSubstr("must hold floating-point numbers"));
  EXPECT_THAT(what("x", 2), HasSubstr(path_));
  std::ofstream(folder_.file("text.h5")) << "no HDF5\n";
  EXPECT_THROW(Hdf5Reader(folder_.file("text.h5")), Error);
  EXPECT_THROW(Hdf5Reader(folder_.file("missing.h5")), Error);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  EXPECT_THROW(Hdf5Reader(path_).read("x", 2), Error);
}

}  // namespace
}  // namespace quadrille
