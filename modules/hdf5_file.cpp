#include "modules/hdf5_file.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hdf5.h>

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
           fmt::format("element {} is {}", place_text(array.dims, k), array.data[k]));
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

}  // namespace quadrille
