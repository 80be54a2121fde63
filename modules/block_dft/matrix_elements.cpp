#include "modules/block_dft/matrix_elements.h"

#include "core/error.h"
#include "modules/hdf5_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

namespace quadrille::block_dft {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& message, std::int64_t byte = -1) {
  throw Error(ErrorCode::file, message, Location{.file = path, .byte = byte});
}

enum class Format { hdf5, elsi, cp2k_text, cp2k_binary };

constexpr std::int32_t cp2k_record = 16;  ///< bytes of a record, which its first word says

/// What is nothing else is taken for ELSI's format, whose reader says what is wrong.
Format format_of(const std::string& path) {
  static constexpr unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  char head[8] = {};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, "cannot be opened");
  stream.read(head, sizeof head);
  if (stream.gcount() != sizeof head) return Format::elsi;
  if (std::memcmp(head, signature, sizeof head) == 0) return Format::hdf5;
  std::int32_t first = 0;
  std::memcpy(&first, head, sizeof first);
  if (first == cp2k_record) return Format::cp2k_binary;
  const auto of_a_row = [](char c) { return c == ' ' || (c >= '0' && c <= '9'); };
  return std::all_of(std::begin(head), std::end(head), of_a_row) ? Format::cp2k_text : Format::elsi;
}

class ElsiElements final : public ElementSource {
 public:
  explicit ElsiElements(const std::string& path) : path_(path), stream_(path, std::ios::binary | std::ios::ate) {
    if (!stream_) fail(path_, "cannot be opened");
    bytes_ = std::int64_t(stream_.tellg());
    std::array<std::int64_t, elsi::head_length> head{};
    if (bytes_ < std::int64_t(sizeof head)) {
      fail(path_,
           fmt::format(
               "is neither HDF5, nor a CSR dump of CP2K, nor ELSI CSC: it has {} bytes, fewer than the header of "
               "ELSI CSC",
               bytes_));
    }
    read(0, head.data(), head.size());
    if (head[elsi::kind] != elsi::real) fail(path_, "holds complex numbers; real ones are needed", 8 * elsi::kind);
    n_ = head[elsi::size];
    count_ = head[elsi::elements];
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const bool possible = n_ >= 1 && n_ < most && count_ >= 0 && count_ <= bytes_ / 12;
    const std::int64_t needed = possible ? std::int64_t(sizeof head) + 8 * n_ + 12 * count_ : -1;
    if (needed != bytes_) {
      fail(path_,
           fmt::format(
               "is neither HDF5, nor a CSR dump of CP2K, nor a complete ELSI CSC: {} columns and {} elements do not "
               "make a file of {} bytes",
               n_, count_, bytes_),
           8 * elsi::size);
    }
  }

  std::int64_t size() override { return n_; }
  std::optional<std::int64_t> size_in_head() const override { return n_; }
  int base() const override { return 1; }

  void next(std::size_t most, std::vector<Element>& piece) override {
    piece.clear();
    if (at_ == 0) check_starts();
    row_.resize(std::size_t(std::min(std::int64_t(most), count_ - at_)));
    value_.resize(row_.size());
    read(rows_begin() + 4 * at_, row_.data(), row_.size());
    read(rows_begin() + 4 * count_ + 8 * at_, value_.data(), value_.size());
    piece.reserve(row_.size());
    for (std::size_t k = 0; k < row_.size(); ++k, ++at_) {
      while (at_ + 1 >= start_of(column_ + 1)) ++column_;
      check_element(row_[k], value_[k]);
      piece.push_back({row_[k] - 1, std::int32_t(column_), value_[k]});
    }
    if (piece.empty()) at_ = column_ = 0;
  }

 private:
  std::int64_t rows_begin() const { return 8 * (elsi::head_length + n_); }

  template <class T>
  void read(std::int64_t byte, T* to, std::size_t count) {
    stream_.seekg(byte);
    stream_.read(reinterpret_cast<char*>(to), std::streamsize(count * sizeof(T)));
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

  void check_element(std::int32_t row, double value) const {
    if (row < 1 || row > n_) {
      fail(path_, fmt::format("element {} is in row {}: rows are 1 to {}", at_ + 1, row, n_), rows_begin() + 4 * at_);
    }
    if (std::isfinite(value)) return;
    throw Error(ErrorCode::numerical, fmt::format("element {} in row {} is {}: it must be finite", at_ + 1, row, value),
                Location{.file = path_, .byte = rows_begin() + 4 * count_ + 8 * at_});
  }

  std::string path_;
  std::ifstream stream_;
  std::int64_t bytes_ = 0, n_ = 0, count_ = 0;
  std::int64_t at_ = 0, column_ = 0;  // of the next element
  std::int64_t window_ = 0;           // the first column of starts_
  std::vector<std::int64_t> starts_;
  std::vector<std::int32_t> row_;
  std::vector<double> value_;
};

/// CSR dumps of CP2K (S_CSR_WRITE, KS_CSR_WRITE): row, column and value of an element, from 1; a line of text each, or
/// a record of Fortran: its length before and after it. With UPPER_TRIANGULAR elements below the diagonal are not
/// there. The number of rows is that of the last element.
class Cp2kElements final : public ElementSource {
 public:
  Cp2kElements(const std::string& path, Format format)
      : path_(path), binary_(format == Format::cp2k_binary), stream_(path, std::ios::binary) {
    if (!stream_) fail(path_, "cannot be opened");
  }

  std::optional<std::int64_t> size_in_head() const override { return std::nullopt; }
  int base() const override { return 1; }

  std::int64_t size() override {
    if (last_row_ != 0) return last_row_;
    std::int32_t last_column = 0;
    bool below = false;
    Element e{};
    while (read(e)) {
      last_row_ = std::max(last_row_, e.row + 1);
      last_column = std::max(last_column, e.column + 1);
      below = below || e.row > e.column;
    }
    rewind();
    if (last_row_ != last_column) {
      fail(path_, fmt::format("ends early: there are {} columns, but the last row is {}", last_column, last_row_));
    }
    upper_ = !below;
    return last_row_;
  }

  void next(std::size_t most, std::vector<Element>& piece) override {
    size();
    piece.clear();
    Element e{};
    while ((piece.empty() || piece.size() + 1 < most) && read(e)) {
      piece.push_back(e);
      if (upper_ && e.row != e.column) piece.push_back({e.column, e.row, e.value});
    }
    if (piece.empty()) rewind();
  }

 private:
  void rewind() {
    stream_.clear();
    stream_.seekg(0);
    count_ = 0;
  }

  bool read(Element& e) { return binary_ ? read_record(e) : read_line(e); }

  bool read_record(Element& e) {
#pragma pack(push, 4)
    struct Record {
      std::int32_t before, row, column;
      double value;
      std::int32_t after;
    };
#pragma pack(pop)
    static_assert(sizeof(Record) == 24);
    Record record{};
    stream_.read(reinterpret_cast<char*>(&record), sizeof record);
    if (stream_.gcount() == 0) return false;
    const Location where{.file = path_, .byte = count_ * std::int64_t(sizeof record)};
    if (stream_.gcount() != sizeof record) {
      throw Error(ErrorCode::file, fmt::format("ends early, within element {}", count_ + 1), where);
    }
    if (record.before != cp2k_record || record.after != cp2k_record) {
      throw Error(ErrorCode::file,
                  fmt::format("the record has {} bytes: records of real numbers in double precision have {}",
                              record.before, cp2k_record),
                  where);
    }
    e = checked(record.row, record.column, record.value, where);
    return true;
  }

  bool read_line(Element& e) {
    if (!std::getline(stream_, text_)) return false;
    const Location where = place_of_line(path_, count_ + 1);
    if (stream_.eof()) throw Error(ErrorCode::file, "ends early: the last line is incomplete", where);
    std::int32_t row = 0, column = 0;
    double value = 0;
    const char* at = text_.data();
    const char* const end = at + text_.size();
    const auto take = [&](auto& number) {
      while (at != end && *at == ' ') ++at;
      const auto [past, error] = std::from_chars(at, end, number);
      const bool good = error == std::errc() && past != at;
      at = past;
      return good;
    };
    const bool good = take(row) && take(column) && take(value);
    while (at != end && (*at == ' ' || *at == '\r')) ++at;
    if (!good || at != end) {
      throw Error(ErrorCode::file, "'" + text_ + "' is not row, column and one real value", where);
    }
    e = checked(row, column, value, where);
    return true;
  }

  Element checked(std::int32_t row, std::int32_t column, double value, const Location& where) {
    if (row < 1 || column < 1) {
      throw Error(ErrorCode::file, fmt::format("element ({}, {}): rows and columns count from 1", row, column), where);
    }
    if (!std::isfinite(value)) {
      throw Error(ErrorCode::numerical, fmt::format("element ({}, {}) is {}: it must be finite", row, column, value),
                  where);
    }
    ++count_;
    return {row - 1, column - 1, value};
  }

  std::string path_;
  bool binary_;
  std::ifstream stream_;
  std::string text_;
  std::int64_t count_ = 0;  ///< elements read
  std::int32_t last_row_ = 0;
  bool upper_ = false;  ///< those below the diagonal are not in the file
};

/// All but those that are 0.
class DenseElements final : public ElementSource {
 public:
  DenseElements(const std::string& path, const std::string& dataset) : matrix_(path, dataset) {
    if (matrix_.rows() == matrix_.columns()) return;
    throw Error(ErrorCode::file, fmt::format("must be square, but is {} x {}", matrix_.rows(), matrix_.columns()),
                Location{.file = path, .dataset = dataset});
  }

  std::int64_t size() override { return matrix_.rows(); }
  std::optional<std::int64_t> size_in_head() const override { return matrix_.rows(); }
  int base() const override { return 0; }

  void next(std::size_t most, std::vector<Element>& piece) override {
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
  void read_part(std::int64_t most, std::vector<Element>& piece) {
    if (row_ == 0 && column_ == 0) block_ = block_at(block_.row, block_.column, most);
    const std::int64_t rows = std::clamp<std::int64_t>(most / block_.columns, 1, block_.rows - row_);
    const std::int64_t columns = rows > 1 ? block_.columns : std::min(most, block_.columns - column_);
    const std::int64_t first_row = block_.row + row_, first_column = block_.column + column_;
    numbers_.resize(std::size_t(rows * columns));
    matrix_.read(first_row, rows, first_column, columns, numbers_.data());
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      if (numbers_[k] == 0) continue;
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
  std::vector<double> numbers_;
};

}  // namespace

Location place_of_line(const std::string& path, std::int64_t line) {
  if (line <= std::numeric_limits<int>::max()) return {.file = path, .line = int(line)};
  return {.file = fmt::format("{}:{}", path, line)};
}

std::unique_ptr<ElementSource> elements_of_file(const std::string& path, const std::string& dataset) {
  const Format format = format_of(path);
  if (format == Format::hdf5) return std::make_unique<DenseElements>(path, dataset);
  if (format == Format::elsi) return std::make_unique<ElsiElements>(path);
  return std::make_unique<Cp2kElements>(path, format);
}

}  // namespace quadrille::block_dft
