// The elements of square matrices in files, in pieces of bounded size: dense HDF5, ELSI CSC, Matrix Market, CP2K's CSR
// dumps; real or complex.
#pragma once

#include "core/api.h"
#include "core/error.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// Rows and columns count from 0.
template <class T>
struct MatrixElement {
  std::int32_t row, column;
  T value;
};
using Element = MatrixElement<double>;

/// Elements in any order; those of one place add up.
template <class T>
class MatrixElements {
 public:
  virtual ~MatrixElements() = default;
  /// The number of rows, which is that of columns.
  virtual std::int64_t size() = 0;
  /// The same where the source says it at its head; none where all elements must be read for it.
  virtual std::optional<std::int64_t> size_in_head() const = 0;
  /// What rows and columns count from in the file, or in a host's arrays: for messages.
  virtual int base() const = 0;
  /// Replaces `piece` by the next elements, about `most` of them. None says that all have been given; then they begin
  /// again. What is kept besides takes up to 16 bytes for each number of them.
  virtual void next(std::size_t most, std::vector<MatrixElement<T>>& piece) = 0;
};
using ElementSource = MatrixElements<double>;

/// Of a file whose format its first bytes tell; `dataset` counts for HDF5 only. T is double or std::complex<double>;
/// real matrices can be read as complex ones. Errors, naming the place: ErrorCode::file for files that are damaged or
/// cut short, and for complex numbers where real ones are expected; ErrorCode::numerical for elements that are not
/// finite.
template <class T = double>
QUADRILLE_API std::unique_ptr<MatrixElements<T>> elements_of_file(const std::string& path, const std::string& dataset);

/// Whether a file holds a complex matrix, by its head. Errors as above.
QUADRILLE_API bool holds_complex_elements(const std::string& path, const std::string& dataset);

/// A line of a text file, of any number, for an error.
QUADRILLE_API Location place_of_line(const std::string& path, std::int64_t line);

/// ELSI CSC: a head of 16 64-bit integers, n column starts of 64 bits, row indices of 32 and values of 64 (complex: two
/// of them); all count from 1.
namespace elsi {
enum Head { version = 0, unset = 1, kind = 2, size = 3, electron_count = 4, elements = 5, head_length = 16 };
constexpr std::int64_t this_version = 170915, is_unset = -910910, real = 0, complex = 1;
}  // namespace elsi

}  // namespace quadrille
