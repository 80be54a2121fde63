#include "modules/shared/elements/matrix_elements.h"

#include "core/error.h"
#include "modules/shared/elements/element_sources.h"
#include "modules/shared/hdf5/hdf5_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

namespace quadrille {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& message, std::int64_t byte = -1) {
  throw Error(ErrorCode::file, message, Location{.file = path, .byte = byte});
}

enum class Format { hdf5, elsi, market, cp2k_text, cp2k_binary };

template <class T>
constexpr bool is_complex = !std::is_same_v<T, double>;
constexpr const char* real_needed = "holds complex numbers; real ones are needed";

/// What is nothing else is taken for ELSI's format, whose reader says what is wrong.
Format format_of(const std::string& path) {
  static constexpr unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  char head[8] = {};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, "cannot be opened");
  stream.read(head, sizeof head);
  if (stream.gcount() != sizeof head) return Format::elsi;
  if (head[0] == '%' && head[1] == '%') return Format::market;
  if (std::memcmp(head, signature, sizeof head) == 0) return Format::hdf5;
  std::int32_t first = 0;
  std::memcpy(&first, head, sizeof first);
  if (first == cp2k_record) return Format::cp2k_binary;
  const auto of_a_row = [](char c) { return c == ' ' || (c >= '0' && c <= '9'); };
  return std::all_of(std::begin(head), std::end(head), of_a_row) ? Format::cp2k_text : Format::elsi;
}

template <class T>
class ElsiElements final : public MatrixElements<T> {
 public:
  explicit ElsiElements(const std::string& path) : path_(path), stream_(path, std::ios::binary | std::ios::ate) {
    if (!stream_) fail(path_, "cannot be opened");
    bytes_ = std::int64_t(stream_.tellg());
    std::array<std::int64_t, elsi::head_length> head{};
    if (bytes_ < std::int64_t(sizeof head)) {
      fail(path_,
           fmt::format(
               "is neither HDF5, nor Matrix Market, nor a CSR dump of CP2K, nor ELSI CSC: it has {} bytes, fewer than "
               "the header of ELSI CSC",
               bytes_));
    }
    read(0, head.data(), head.size());
    numbers_ = head[elsi::kind] == elsi::real ? 1 : 2;
    if (numbers_ == 2 && !is_complex<T>) fail(path_, real_needed, 8 * elsi::kind);
    n_ = head[elsi::size];
    count_ = head[elsi::elements];
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const bool possible = n_ >= 1 && n_ < most && count_ >= 0 && count_ <= bytes_ / element_bytes();
    const std::int64_t needed = possible ? std::int64_t(sizeof head) + 8 * n_ + element_bytes() * count_ : -1;
    if (needed != bytes_) {
      fail(path_,
           fmt::format(
               "is neither HDF5, nor Matrix Market, nor a CSR dump of CP2K, nor a complete ELSI CSC: {} columns and {} "
               "elements do not make a file of {} bytes",
               n_, count_, bytes_),
           8 * elsi::size);
    }
  }

  std::int64_t size() override { return n_; }
  std::optional<std::int64_t> size_in_head() const override { return n_; }
  int base() const override { return 1; }
  bool holds_complex() const { return numbers_ == 2; }

  void next(std::size_t most, std::vector<MatrixElement<T>>& piece) override {
    piece.clear();
    if (at_ == 0) check_starts();
    row_.resize(std::size_t(std::min(std::int64_t(most), count_ - at_)));
    value_.resize(row_.size() * std::size_t(numbers_));
    read(rows_begin() + 4 * at_, row_.data(), row_.size());
    read(rows_begin() + 4 * count_ + 8 * numbers_ * at_, value_.data(), value_.size());
    piece.reserve(row_.size());
    for (std::size_t k = 0; k < row_.size(); ++k, ++at_) {
      while (at_ + 1 >= start_of(column_ + 1)) ++column_;
      piece.push_back({checked_row(row_[k]) - 1, std::int32_t(column_), checked_value(k)});
    }
    if (piece.empty()) at_ = column_ = 0;
  }

 private:
  std::int64_t element_bytes() const { return 4 + 8 * numbers_; }
  std::int64_t rows_begin() const { return 8 * (elsi::head_length + n_); }

  template <class Number>
  void read(std::int64_t byte, Number* to, std::size_t count) {
    stream_.seekg(byte);
    stream_.read(reinterpret_cast<char*>(to), std::streamsize(count * sizeof(Number)));
    if (!stream_) fail(path_, "ends early");
  }

  /// The element that a column begins with, from 1.
  std::int64_t start_of(std::int64_t column) {
    if (column == n_) return count_ + 1;
    if (column < window_ || column >= window_ + std::int64_t(starts_.size())) {
      constexpr std::int64_t length = 4096;
      window_ = column;
      starts_.resize(std::size_t(std::min(length, n_ - column)));
      read(8 * (elsi::head_length + column), starts_.data(), starts_.size());
    }
    return starts_[std::size_t(column - window_)];
  }

  void check_starts() {
    std::int64_t start = start_of(0);
    for (std::int64_t column = 0; column < n_; ++column) {
      const std::int64_t end = start_of(column + 1);
      if ((column == 0 && start != 1) || start > end) {
        fail(path_, fmt::format("column {} begins at element {}: the file is damaged", column + 1, start),
             8 * (elsi::head_length + column));
      }
      start = end;
    }
  }

  std::int32_t checked_row(std::int32_t row) const {
    if (row < 1 || row > n_) {
      fail(path_, fmt::format("element {} is in row {}: rows are 1 to {}", at_ + 1, row, n_), rows_begin() + 4 * at_);
    }
    return row;
  }

  /// Of element `k` of this piece, which is element `at_`.
  T checked_value(std::size_t k) const {
    const auto part = [&](std::int64_t which) {
      const double value = value_[k * std::size_t(numbers_) + std::size_t(which)];
      if (std::isfinite(value)) return value;
      throw Error(ErrorCode::numerical,
                  fmt::format("element {} in row {} is {}: it must be finite", at_ + 1, row_[k], value),
                  Location{.file = path_, .byte = rows_begin() + 4 * count_ + 8 * (numbers_ * at_ + which)});
    };
    if constexpr (is_complex<T>) {
      return {part(0), numbers_ == 2 ? part(1) : 0.0};
    } else {
      return part(0);
    }
  }

  std::string path_;
  std::ifstream stream_;
  std::int64_t bytes_ = 0, n_ = 0, count_ = 0, numbers_ = 1;
  std::int64_t at_ = 0, column_ = 0;  // of the next element
  std::int64_t window_ = 0;           // the first column of starts_
  std::vector<std::int64_t> starts_;
  std::vector<std::int32_t> row_;
  std::vector<double> value_;
};

/// All but those that are 0.
template <class T>
class DenseElements final : public MatrixElements<T> {
 public:
  DenseElements(const std::string& path, const std::string& dataset) : matrix_(path, dataset) {
    const Location where{.file = path, .dataset = dataset};
    if (matrix_.is_complex() && !is_complex<T>) throw Error(ErrorCode::file, real_needed, where);
    if (matrix_.rows() == matrix_.columns()) return;
    throw Error(ErrorCode::file, fmt::format("must be square, but is {} x {}", matrix_.rows(), matrix_.columns()),
                where);
  }

  std::int64_t size() override { return matrix_.rows(); }
  std::optional<std::int64_t> size_in_head() const override { return matrix_.rows(); }
  int base() const override { return 0; }

  void next(std::size_t most, std::vector<MatrixElement<T>>& piece) override {
    piece.clear();
    while (piece.empty() && block_.row < size()) read_part(std::int64_t(most), piece);
    if (piece.empty()) block_ = {};
  }

 private:
  struct Block {
    std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  };

  /// As many whole chunks, in whole rows of them where these fit, as a piece has room for, or one that is larger.
  Block block_at(std::int64_t row, std::int64_t column, std::int64_t most) const {
    const std::int64_t n = matrix_.rows();
    const auto [height, width] = matrix_.chunk();
    std::int64_t rows = most / n / height * height, columns = n;
    if (rows == 0 || column > 0) {
      rows = height;
      columns = std::max<std::int64_t>(1, most / height / width) * width;
    }
    return {row, column, std::min(rows, n - row), std::min(columns, n - column)};
  }

  /// A block, or rows of one that is larger than a piece, or a part of a row.
  void read_part(std::int64_t most, std::vector<MatrixElement<T>>& piece) {
    if (row_ == 0 && column_ == 0) block_ = block_at(block_.row, block_.column, most);
    const std::int64_t rows = std::clamp<std::int64_t>(most / block_.columns, 1, block_.rows - row_);
    const std::int64_t columns = rows > 1 ? block_.columns : std::min(most, block_.columns - column_);
    const std::int64_t first_row = block_.row + row_, first_column = block_.column + column_;
    numbers_.resize(std::size_t(rows * columns));
    matrix_.read(first_row, rows, first_column, columns, numbers_.data());
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      if (numbers_[k] == T(0)) continue;
      piece.push_back({std::int32_t(first_row + std::int64_t(k) / columns),
                       std::int32_t(first_column + std::int64_t(k) % columns), numbers_[k]});
    }
    go_on(rows, columns);
  }

  void go_on(std::int64_t rows, std::int64_t columns) {
    column_ += columns;
    if (column_ < block_.columns) return;
    column_ = 0;
    row_ += rows;
    if (row_ < block_.rows) return;
    row_ = 0;
    block_.column += block_.columns;
    if (block_.column < matrix_.columns()) return;
    block_.column = 0;
    block_.row += block_.rows;
  }

  Hdf5Matrix matrix_;
  Block block_;                        // the present one
  std::int64_t row_ = 0, column_ = 0;  // of the next part, in it
  std::vector<T> numbers_;
};

}  // namespace

Location place_of_line(const std::string& path, std::int64_t line) {
  if (line <= std::numeric_limits<int>::max()) return {.file = path, .line = int(line)};
  return {.file = fmt::format("{}:{}", path, line)};
}

namespace {

/// Real elements as complex ones.
class AsComplex final : public MatrixElements<std::complex<double>> {
 public:
  explicit AsComplex(std::unique_ptr<ElementSource> source) : source_(std::move(source)) {}
  std::int64_t size() override { return source_->size(); }
  std::optional<std::int64_t> size_in_head() const override { return source_->size_in_head(); }
  int base() const override { return source_->base(); }
  void next(std::size_t most, std::vector<MatrixElement<std::complex<double>>>& piece) override {
    source_->next(most, real_);
    piece.clear();
    for (const Element& e : real_) piece.push_back({e.row, e.column, e.value});
  }

 private:
  std::unique_ptr<ElementSource> source_;
  std::vector<Element> real_;
};

}  // namespace

template <class T>
std::unique_ptr<MatrixElements<T>> elements_of_file(const std::string& path, const std::string& dataset) {
  const Format format = format_of(path);
  if (format == Format::hdf5) return std::make_unique<DenseElements<T>>(path, dataset);
  if (format == Format::elsi) return std::make_unique<ElsiElements<T>>(path);
  if (format == Format::market) return market_elements<T>(path);
  auto real = cp2k_elements(path, format == Format::cp2k_binary);
  if constexpr (is_complex<T>) {
    return std::make_unique<AsComplex>(std::move(real));
  } else {
    return real;
  }
}
template std::unique_ptr<ElementSource> elements_of_file(const std::string&, const std::string&);
template std::unique_ptr<MatrixElements<std::complex<double>>> elements_of_file(const std::string&, const std::string&);

bool holds_complex_elements(const std::string& path, const std::string& dataset) {
  switch (format_of(path)) {
    case Format::hdf5: return Hdf5Matrix(path, dataset).is_complex();
    case Format::market: return is_complex_market(path);
    case Format::elsi: return ElsiElements<std::complex<double>>(path).holds_complex();
    default: return false;
  }
}

}  // namespace quadrille
