// The elements of square matrices in files, in pieces of bounded size: ELSI CSC, CP2K's CSR dumps, dense HDF5.
#pragma once

#include "core/api.h"
#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::block_dft {

/// Rows and columns count from 0.
struct Element {
  std::int32_t row, column;
  double value;
};

/// Elements in any order; those of one place add up.
class ElementSource {
 public:
  virtual ~ElementSource() = default;
  /// The number of rows, which is that of columns.
  virtual std::int64_t size() = 0;
  /// The same where the source says it at its head; none where all elements must be read for it.
  virtual std::optional<std::int64_t> size_in_head() const = 0;
  /// What rows and columns count from in the file, or in a host's arrays: for messages.
  virtual int base() const = 0;
  /// Replaces `piece` by the next elements, about `most` of them. None says that all have been given; then they begin
  /// again. What is kept besides takes up to 16 bytes for each of them.
  virtual void next(std::size_t most, std::vector<Element>& piece) = 0;
};

/// Of a file whose format its first bytes tell; `dataset` counts for HDF5 only. Errors, naming the place:
/// ErrorCode::file for files that are damaged or cut short; ErrorCode::numerical for elements that are not finite.
QUADRILLE_API std::unique_ptr<ElementSource> elements_of_file(const std::string& path, const std::string& dataset);

/// A line of a text file, of any number, for an error.
QUADRILLE_API Location place_of_line(const std::string& path, std::int64_t line);

/// ELSI CSC: a head of 16 64-bit integers, n column starts of 64 bits, row indices of 32 and values of 64; all count
/// from 1.
namespace elsi {
enum Head { version = 0, unset = 1, kind = 2, size = 3, electron_count = 4, elements = 5, head_length = 16 };
constexpr std::int64_t this_version = 170915, is_unset = -910910, real = 0;
}  // namespace elsi

}  // namespace quadrille::block_dft
