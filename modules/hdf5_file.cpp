#include "modules/hdf5_file.h"

#include "core/atomic_file.h"
#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hdf5.h>

#include <algorithm>
#include <cmath>

namespace quadrille {
namespace {

/// Closes an identifier of HDF5.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) (void)close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  hid_t id() const { return id_; }
  bool good() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// What HDF5 says last, deepest in its stack; it prints nothing by itself.
std::string last_message() {
  std::string text;
  const auto look = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, look, &text);
  (void)H5Eclear2(H5E_DEFAULT);
  return text.empty() ? "" : ": " + text;
}

[[noreturn]] void fail(ErrorCode code, const std::string& path, const std::string& dataset,
                       const std::string& message) {
  throw Error(code, message, Location{path, 0, 0, dataset, -1});
}

std::vector<std::int64_t> extents(const Handle& set, const std::string& path, const std::string& dataset, int rank) {
  const Handle space(H5Dget_space(set.id()), H5Sclose);
  const Handle type(H5Dget_type(set.id()), H5Tclose);
  if (!space.good() || !type.good()) fail(ErrorCode::file, path, dataset, "cannot be described" + last_message());
  if (H5Tget_class(type.id()) != H5T_FLOAT) fail(ErrorCode::file, path, dataset, "must hold floating-point numbers");
  const int found = H5Sget_simple_extent_ndims(space.id());
  if (found != rank) fail(ErrorCode::file, path, dataset, fmt::format("must have {} indices, has {}", rank, found));
  std::vector<hsize_t> sizes(std::size_t(rank), 0);
  (void)H5Sget_simple_extent_dims(space.id(), sizes.data(), nullptr);
  return {sizes.begin(), sizes.end()};
}

Handle open_dataset(std::int64_t file, const std::string& path, const std::string& dataset) {
  const hid_t id = H5Dopen2(file, dataset.c_str(), H5P_DEFAULT);
  if (id < 0) fail(ErrorCode::file, path, dataset, "there is no such dataset" + last_message());
  return Handle(id, H5Dclose);
}

/// "[2, 0, 5]" of the element with that index in memory.
std::string place_text(const std::vector<std::int64_t>& dims, std::size_t index) {
  std::vector<std::int64_t> place(dims.size());
  for (std::size_t k = dims.size(); k-- > 0; index /= std::size_t(dims[k])) {
    place[k] = std::int64_t(index % std::size_t(dims[k]));
  }
  return fmt::format("[{}]", fmt::join(place, ", "));
}

}  // namespace

Hdf5Reader::Hdf5Reader(const std::string& path) : path_(path) {
  (void)H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  file_ = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file_ < 0) fail(ErrorCode::file, path, "", "cannot be opened as an HDF5 file" + last_message());
}

Hdf5Reader::~Hdf5Reader() { (void)H5Fclose(file_); }

std::vector<std::int64_t> Hdf5Reader::dims(const std::string& dataset, int rank) const {
  return extents(open_dataset(file_, path_, dataset), path_, dataset, rank);
}

Hdf5Array Hdf5Reader::read(const std::string& dataset, int rank) const {
  const Handle set = open_dataset(file_, path_, dataset);
  Hdf5Array array{extents(set, path_, dataset, rank), {}};
  std::size_t count = 1;
  for (const std::int64_t n : array.dims) count *= std::size_t(n);
  array.data.resize(count);
  if (H5Dread(set.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data.data()) < 0) {
    fail(ErrorCode::file, path_, dataset, "cannot be read" + last_message());
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (!std::isfinite(array.data[k])) {
      fail(ErrorCode::numerical, path_, dataset,
           fmt::format("element {} is {}, must be finite", place_text(array.dims, k), array.data[k]));
    }
  }
  return array;
}

std::optional<double> Hdf5Reader::attribute(const std::string& name) const {
  if (H5Aexists(file_, name.c_str()) <= 0) return std::nullopt;
  const Handle attribute(H5Aopen(file_, name.c_str(), H5P_DEFAULT), H5Aclose);
  double value = 0;
  if (!attribute.good() || H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) < 0) {
    (void)H5Eclear2(H5E_DEFAULT);
    return std::nullopt;
  }
  return value;
}

// The file is made in memory, since HDF5 writes here and there, and then written in one piece.
void write_hdf5(const std::string& path, const std::string& dataset, const Hdf5Array& array) {
  (void)H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  constexpr std::size_t piece = std::size_t(1) << 24;
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  (void)H5Pset_fapl_core(access.id(), piece, 0);
  const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose);
  const std::vector<hsize_t> dims(array.dims.begin(), array.dims.end());
  const Handle space(H5Screate_simple(int(dims.size()), dims.data(), nullptr), H5Sclose);
  const Handle set(
      H5Dcreate2(file.id(), dataset.c_str(), H5T_IEEE_F64LE, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Dclose);
  if (!file.good() || !space.good() || !set.good() ||
      H5Dwrite(set.id(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, array.data.data()) < 0 ||
      H5Fflush(file.id(), H5F_SCOPE_GLOBAL) < 0) {
    fail(ErrorCode::file, path, dataset, "cannot be made" + last_message());
  }
  const ssize_t bytes = H5Fget_file_image(file.id(), nullptr, 0);
  std::vector<char> image(std::size_t(std::max<ssize_t>(bytes, 0)));
  if (bytes < 0 || H5Fget_file_image(file.id(), image.data(), image.size()) != bytes) {
    fail(ErrorCode::file, path, dataset, "cannot be made" + last_message());
  }
  AtomicFile target(path);
  target.write(image.data(), image.size());
  target.commit();
}

}  // namespace quadrille
