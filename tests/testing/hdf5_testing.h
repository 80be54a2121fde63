// Files of several datasets, of any type.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <fstream>
#include <string>
#include <vector>

namespace quadrille::testing {

/// Adds an array to a file, which is made when it is not there, in the type `type` of the file; with `chunk`, in
/// compressed chunks of these extents.
inline void add_dataset(const std::string& path, const char* name, const std::vector<hsize_t>& dims,
                        const std::vector<double>& data, hid_t type = H5T_IEEE_F64LE,
                        const std::vector<hsize_t>& chunk = {}) {
  const hid_t file = std::ifstream(path).good() ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                                                : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(int(dims.size()), dims.data(), nullptr);
  const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
  if (!chunk.empty()) {
    ASSERT_GE(H5Pset_chunk(made, int(chunk.size()), chunk.data()), 0);
    ASSERT_GE(H5Pset_shuffle(made), 0);
    ASSERT_GE(H5Pset_deflate(made, 4), 0);
  }
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, made, H5P_DEFAULT);
  ASSERT_GE(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data()), 0);
  H5Dclose(set);
  H5Pclose(made);
  H5Sclose(space);
  H5Fclose(file);
}

}  // namespace quadrille::testing
