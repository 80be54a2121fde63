// Arrays of real numbers in HDF5 files, for modules.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// An array in double precision, the last index fastest.
struct Hdf5Array {
  std::vector<std::int64_t> dims;
  std::vector<double> data;
};

/// An HDF5 file that is read. Errors: ErrorCode::file, naming file and dataset, with what HDF5 says.
class QUADRILLE_API Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::string& path);
  ~Hdf5Reader();
  Hdf5Reader(const Hdf5Reader&) = delete;
  Hdf5Reader& operator=(const Hdf5Reader&) = delete;

  /// A dataset of `rank` indices, of floating-point numbers of any width; ErrorCode::numerical, naming the place, for
  /// one that is not finite.
  Hdf5Array read(const std::string& dataset, int rank) const;
  /// Its extents only.
  std::vector<std::int64_t> dims(const std::string& dataset, int rank) const;
  /// A real attribute of the file; none when it has no such attribute.
  std::optional<double> attribute(const std::string& name) const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::int64_t file_ = -1;
};

/// Writes a file of datasets of doubles, whole or not at all. Errors: ErrorCode::file.
struct Hdf5Dataset {
  std::string name;
  Hdf5Array array;
};
QUADRILLE_API void write_hdf5(const std::string& path, const std::vector<Hdf5Dataset>& datasets);
QUADRILLE_API void write_hdf5(const std::string& path, const std::string& dataset, const Hdf5Array& array);

}  // namespace quadrille
