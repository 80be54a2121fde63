// Arrays of real numbers in HDF5 files, for modules.
#pragma once

#include "core/api.h"

#include <array>
#include <complex>
#include <cstdint>
#include <memory>
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
  /// Of the first index [first, first + count) only, which must be there; into `to`.
  void read_part(const std::string& dataset, int rank, std::int64_t first, std::int64_t count, double* to) const;
  /// Its extents only.
  std::vector<std::int64_t> dims(const std::string& dataset, int rank) const;
  /// A real attribute of the file; none when it has no such attribute.
  std::optional<double> attribute(const std::string& name) const;

  const std::string& path() const { return path_; }

 private:
  friend class Hdf5Matrix;
  std::string path_;
  std::int64_t file_ = -1;
};

/// A matrix in an HDF5 file that is read in parts, of which HDF5 keeps one chunk unpacked: parts of one chunk that are
/// read one after another are fast. A complex one has a third index of extent 2, for real and imaginary parts, or
/// compounds of two numbers, the first of whose names begins with r, the other with i. Errors as of Hdf5Reader.
class QUADRILLE_API Hdf5Matrix {
 public:
  Hdf5Matrix(const std::string& path, const std::string& dataset);
  ~Hdf5Matrix();
  Hdf5Matrix(const Hdf5Matrix&) = delete;
  Hdf5Matrix& operator=(const Hdf5Matrix&) = delete;

  std::int64_t rows() const;
  std::int64_t columns() const;
  bool is_complex() const;
  /// Rows and columns of the chunks that it is stored in; of a matrix in one piece those of a row.
  std::array<std::int64_t, 2> chunk() const;
  /// Rows [row, row + rows) of the columns [column, column + columns), row by row.
  void read(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, double* to) const;
  /// The same of a real or complex one.
  void read(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
            std::complex<double>* to) const;

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

/// Writes a file of datasets of doubles or complex numbers (compounds of r and i, as h5py has them), whole or not at
/// all: it is there after commit(), and until then an older file of this name is as it was. Errors: ErrorCode::file,
/// with path and the system's reason; a disk that is too full is found by create(), with the number of bytes.
class QUADRILLE_API Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path);
  ~Hdf5Writer();
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// A new dataset, which rows() fills; groups on the way to its name ("mesons/pion") are made.
  void create(const std::string& name, const std::vector<std::int64_t>& dims, bool complex = false);
  /// The next `count` of the first index of the dataset that was created last.
  void rows(std::int64_t count, const double* numbers);
  void rows(std::int64_t count, const std::complex<double>* numbers);
  /// A whole dataset of texts in UTF-8, one index.
  void texts(const std::string& name, const std::vector<std::string>& texts);
  /// An attribute of the dataset that create() made last; before the first one, of the file.
  void attribute(const std::string& name, const std::string& text);
  void attribute(const std::string& name, std::int64_t number);
  void commit();

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

struct Hdf5Dataset {
  std::string name;
  Hdf5Array array;
};
QUADRILLE_API void write_hdf5(const std::string& path, const std::vector<Hdf5Dataset>& datasets);
QUADRILLE_API void write_hdf5(const std::string& path, const std::string& dataset, const Hdf5Array& array);

}  // namespace quadrille
