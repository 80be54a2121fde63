// HDF5 files for fuzz.py to damage: a small RI-MP2 system, stored in the ways that real files are.
//
//   fuzz_seeds FOLDER
#include <hdf5.h>

#include <string>
#include <vector>

namespace {

void add(hid_t file, const char* name, const std::vector<hsize_t>& dims, const std::vector<double>& data, hid_t type,
         const std::vector<hsize_t>& chunk) {
  const hid_t space = H5Screate_simple(int(dims.size()), dims.data(), nullptr);
  const hid_t made = H5Pcreate(H5P_DATASET_CREATE);
  if (!chunk.empty()) {
    H5Pset_chunk(made, int(chunk.size()), chunk.data());
    H5Pset_shuffle(made);
    H5Pset_deflate(made, 4);
    H5Pset_fletcher32(made);
  }
  const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, made, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data.data());
  H5Dclose(set);
  H5Pclose(made);
  H5Sclose(space);
}

void write(const std::string& path, hid_t type, bool chunks, bool latest) {
  constexpr hsize_t occupied = 2, virtuals = 3, auxiliary = 5;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  if (latest) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  std::vector<double> ia_p, p_q(auxiliary * auxiliary, 0.0);
  for (hsize_t k = 0; k < occupied * virtuals * auxiliary; ++k) ia_p.push_back(0.25 * double(k % 7) - 0.5);
  for (hsize_t k = 0; k < auxiliary; ++k) p_q[k * (auxiliary + 1)] = 1 + 0.125 * double(k);
  const auto chunk = [&](std::vector<hsize_t> extents) { return chunks ? extents : std::vector<hsize_t>{}; };
  add(file, "ia_P", {occupied, virtuals, auxiliary}, ia_p, type, chunk({1, 2, 3}));
  add(file, "P_Q", {auxiliary, auxiliary}, p_q, type, chunk({2, 5}));
  add(file, "eps_occ", {occupied}, {-1.5, -0.5}, type, chunk({2}));
  add(file, "eps_vir", {virtuals}, {0.25, 0.5, 1}, type, chunk({2}));
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const hid_t attribute = H5Acreate2(file, "e_mp2_corr", H5T_IEEE_F64LE, scalar, H5P_DEFAULT, H5P_DEFAULT);
  const double energy = -0.125;
  H5Awrite(attribute, H5T_NATIVE_DOUBLE, &energy);
  H5Aclose(attribute);
  H5Sclose(scalar);
  H5Fclose(file);
  H5Pclose(access);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = std::string(argv[1]) + "/";
  write(folder + "whole.h5", H5T_IEEE_F64LE, false, false);
  write(folder + "chunks.h5", H5T_IEEE_F64LE, true, false);
  write(folder + "single.h5", H5T_IEEE_F32BE, false, false);
  write(folder + "latest.h5", H5T_IEEE_F64LE, true, true);
}
