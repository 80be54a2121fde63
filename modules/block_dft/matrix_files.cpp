#include "modules/block_dft/matrix_files.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/atomic_file.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/block_exchange.h"
#include "modules/hdf5_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

namespace quadrille::block_dft {
namespace {

using Matrix = BlockMatrix<double>;

constexpr double largest_asymmetry = 1e-8;

[[noreturn]] void fail(const std::string& path, const std::string& message, std::int64_t byte = -1) {
  throw Error(ErrorCode::file, message, Location{.file = path, .byte = byte});
}

enum class Format { hdf5, elsi, cp2k_text, cp2k_binary };

constexpr std::int32_t cp2k_record = 16;  ///< bytes of a record, which its first word says

/// By the first bytes; what is nothing else is taken for ELSI's format, whose reader says what is wrong.
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

/// Elements of a square matrix in any order; those of one place add up.
struct Elements {
  struct Element {
    std::int32_t row, column;  ///< from 0
    double value;
  };
  std::int64_t n = 0;
  std::vector<Element> all;
};

// ---- ELSI CSC: a head of 16 64-bit integers, n column starts of 64 bits, row indices of 32, values of 64; all from 1
// ----

enum ElsiHead { version = 0, kind = 2, size = 3, electron_count = 4, elements = 5, head_length = 16 };
constexpr std::int64_t elsi_version = 170915, elsi_unset = -910910, elsi_real = 0;

class ElsiReader {
 public:
  explicit ElsiReader(const std::string& path) : path_(path), stream_(path, std::ios::binary | std::ios::ate) {
    if (!stream_) fail(path_, "cannot be opened");
    bytes_ = std::int64_t(stream_.tellg());
    stream_.seekg(0);
    std::array<std::int64_t, head_length> head{};
    if (bytes_ < std::int64_t(sizeof head)) {
      fail(path_,
           fmt::format(
               "is neither HDF5, nor a CSR dump of CP2K, nor ELSI CSC: it has {} bytes, fewer than the header of "
               "the latter",
               bytes_));
    }
    read(head.data(), head.size());
    if (head[kind] != elsi_real) fail(path_, "holds complex numbers; real ones are needed", 8 * kind);
    n_ = head[size];
    count_ = head[elements];
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const bool possible = n_ >= 1 && n_ < most && count_ >= 0 && count_ <= bytes_ / 12;
    const std::int64_t needed = possible ? std::int64_t(sizeof head) + 8 * n_ + 12 * count_ : -1;
    if (needed != bytes_) {
      fail(path_,
           fmt::format(
               "is neither HDF5, nor a CSR dump of CP2K, nor a complete ELSI CSC: {} columns and {} elements do not "
               "make a file of {} bytes",
               n_, count_, bytes_),
           8 * size);
    }
  }
  std::int64_t n() const { return n_; }

  Elements read_all() {
    start_.resize(std::size_t(n_));
    row_.resize(std::size_t(count_));
    value_.resize(std::size_t(count_));
    read(start_.data(), start_.size());
    read(row_.data(), row_.size());
    read(value_.data(), value_.size());
    check_index();
    Elements out{n_, {}};
    out.all.reserve(row_.size());
    for (std::int64_t column = 0; column < n_; ++column) {
      for (std::int64_t k = start_[std::size_t(column)] - 1; k < start_[std::size_t(column) + 1] - 1; ++k) {
        out.all.push_back({row_[std::size_t(k)] - 1, std::int32_t(column), value_[std::size_t(k)]});
      }
    }
    return out;
  }

 private:
  template <class T>
  void read(T* to, std::size_t count) {
    stream_.read(reinterpret_cast<char*>(to), std::streamsize(count * sizeof(T)));
    if (!stream_) fail(path_, "ends early");
  }

  void check_index() {
    start_.push_back(count_ + 1);
    for (std::size_t column = 0; column < std::size_t(n_); ++column) {
      if ((column == 0 && start_[0] != 1) || start_[column] > start_[column + 1]) {
        fail(path_, fmt::format("column {} begins at element {}: the file is damaged", column + 1, start_[column]),
             8 * (head_length + std::int64_t(column)));
      }
    }
    for (std::size_t k = 0; k < row_.size(); ++k) {
      const std::int64_t at = 8 * (head_length + n_) + 4 * std::int64_t(k);
      if (row_[k] < 1 || row_[k] > n_) {
        fail(path_, fmt::format("element {} is in row {} of {}", k + 1, row_[k], n_), at);
      }
      if (!std::isfinite(value_[k])) {
        throw Error(ErrorCode::numerical,
                    fmt::format("element {} in row {} is {}: it must be finite", k + 1, row_[k], value_[k]),
                    Location{.file = path_});
      }
    }
  }

  std::string path_;
  std::ifstream stream_;
  std::int64_t bytes_ = 0;
  std::int64_t n_ = 0, count_ = 0;
  std::vector<std::int64_t> start_;  // [column], from 1
  std::vector<std::int32_t> row_;    // [element], from 1
  std::vector<double> value_;
};

// ---- CSR dumps of CP2K (S_CSR_WRITE, KS_CSR_WRITE): row, column and value of an element, from 1; a line of text each,
// or a record of Fortran: its length before and after it. With UPPER_TRIANGULAR elements below the diagonal are not
// there. The number of rows is that of the last element. ----

class Cp2kElements {
 public:
  explicit Cp2kElements(std::string path) : path_(std::move(path)) {}

  Elements read(Format format) {
    std::ifstream stream(path_, std::ios::binary);
    if (!stream) fail(path_, "cannot be opened");
    format == Format::cp2k_binary ? read_records(stream) : read_lines(stream);
    if (last_row_ != out_.n || last_column_ != out_.n) {
      fail(path_, fmt::format("ends early: there are {} columns, but the last row is {}", last_column_, last_row_));
    }
    const auto below = [](const Elements::Element& e) { return e.row > e.column; };
    if (std::none_of(out_.all.begin(), out_.all.end(), below)) {
      for (std::size_t k = 0, count = out_.all.size(); k < count; ++k) {
        const auto [row, column, value] = out_.all[k];
        if (row != column) out_.all.push_back({column, row, value});
      }
    }
    return std::move(out_);
  }

 private:
  void read_records(std::ifstream& stream) {
#pragma pack(push, 4)
    struct Record {
      std::int32_t before, row, column;
      double value;
      std::int32_t after;
    };
#pragma pack(pop)
    static_assert(sizeof(Record) == 24);
    Record record{};
    for (std::int64_t byte = 0;; byte += std::int64_t(sizeof record)) {
      stream.read(reinterpret_cast<char*>(&record), sizeof record);
      if (stream.gcount() == 0) return;
      const Location where{.file = path_, .byte = byte};
      if (stream.gcount() != sizeof record) {
        throw Error(ErrorCode::file, fmt::format("ends early, within element {}", out_.all.size() + 1), where);
      }
      if (record.before != cp2k_record || record.after != cp2k_record) {
        throw Error(ErrorCode::file,
                    fmt::format("the record has {} bytes: records of real numbers in double precision have {}",
                                record.before, cp2k_record),
                    where);
      }
      push(record.row, record.column, record.value, where);
    }
  }

  void read_lines(std::ifstream& stream) {
    std::string text;
    for (int line = 1; std::getline(stream, text); ++line) {
      const Location where{.file = path_, .line = line};
      if (stream.eof()) throw Error(ErrorCode::file, "ends early: the last line is incomplete", where);
      std::int32_t row = 0, column = 0;
      double value = 0;
      const char* at = text.data();
      const char* const end = at + text.size();
      const auto next = [&](auto& number) {
        while (at != end && *at == ' ') ++at;
        const auto [past, error] = std::from_chars(at, end, number);
        const bool good = error == std::errc() && past != at;
        at = past;
        return good;
      };
      const bool good = next(row) && next(column) && next(value);
      while (at != end && (*at == ' ' || *at == '\r')) ++at;
      if (!good || at != end) {
        throw Error(ErrorCode::file, "'" + text + "' is not row, column and one real value", where);
      }
      push(row, column, value, where);
    }
  }

  void push(std::int32_t row, std::int32_t column, double value, const Location& where) {
    if (row < 1 || column < 1) {
      throw Error(ErrorCode::file, fmt::format("element ({}, {}): rows and columns count from 1", row, column), where);
    }
    if (!std::isfinite(value)) {
      throw Error(ErrorCode::numerical, fmt::format("element ({}, {}) is {}: it must be finite", row, column, value),
                  where);
    }
    last_row_ = std::max(last_row_, row);
    last_column_ = std::max(last_column_, column);
    out_.n = std::max(last_row_, last_column_);
    out_.all.push_back({row - 1, column - 1, value});
  }

  std::string path_;
  std::int32_t last_row_ = 0, last_column_ = 0;
  Elements out_;
};

/// The whole matrix, without a symmetry.
Matrix blocks_of(const Elements& elements, const BlockSizes& sizes) {
  std::vector<std::int32_t> block_of(std::size_t(elements.n));
  for (std::int32_t b = 0; b < sizes.count(); ++b) {
    std::fill(block_of.begin() + sizes.offset(b), block_of.begin() + sizes.offset(b + 1), b);
  }
  std::vector<BlockPlace> places;
  for (const auto& [p, q, value] : elements.all) {
    const BlockPlace place{block_of[std::size_t(p)], block_of[std::size_t(q)]};
    if (places.empty() || places.back() != place) places.push_back(place);
  }
  Matrix out(sizes, sizes);
  out.reserve(places);
  for (const auto& [p, q, value] : elements.all) {
    const std::int32_t i = block_of[std::size_t(p)], j = block_of[std::size_t(q)];
    out.block(out.find(i, j))[(p - sizes.offset(i)) * sizes.size(j) + q - sizes.offset(j)] += value;
  }
  return out;
}

/// (A + A^T) / 2 of an A that is symmetric but for rounding.
Matrix symmetric_half(const std::string& path, const Matrix& a) {
  const Matrix half = with_symmetry(a, Symmetry::symmetric);
  const double allowed = largest_asymmetry * max_norm(a);
  // |A - (A + A^T) / 2| is half of |A - A^T|; an element that is missing in A is one of A^T.
  const Matrix mirror = transposed(a);
  for (const Matrix* side : {&a, &mirror}) {
    side->for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      const std::vector<double> mean = half.get(i, j);
      for (std::size_t k = 0; k < mean.size(); ++k) {
        const double difference = 2 * std::abs(side->block(slot)[k] - mean[k]);
        if (difference <= allowed) continue;
        const std::int64_t p = a.rows().offset(i) + std::int64_t(k) / a.columns().size(j);
        const std::int64_t q = a.columns().offset(j) + std::int64_t(k) % a.columns().size(j);
        throw Error(ErrorCode::invalid_input,
                    fmt::format("the matrix must be symmetric: elements [{}, {}] and [{}, {}] differ by {:.3g}", p, q,
                                q, p, difference),
                    Location{.file = path});
      }
    });
  }
  return half;
}

void write_elsi(const std::string& path, const Matrix& a, double electrons) {
  const Matrix whole = without_symmetry(a);  // symmetric: rows are columns
  std::array<std::int64_t, head_length> head{};
  head.fill(0);
  head[version] = elsi_version;
  head[1] = elsi_unset;
  head[kind] = elsi_real;
  head[size] = a.rows().total();
  head[electron_count] = std::llround(electrons);
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> row;
  std::vector<double> value;
  for (std::int32_t i = 0; i < whole.rows().count(); ++i) {
    for (std::int64_t p = 0; p < whole.rows().size(i); ++p) {
      start.push_back(std::int64_t(row.size()) + 1);
      for (std::int64_t slot = whole.begin(i); slot < whole.end(i); ++slot) {
        const std::int32_t j = whole.column(slot);
        for (std::int64_t q = 0; q < whole.columns().size(j); ++q) {
          const double number = whole.block(slot)[p * whole.columns().size(j) + q];
          if (number == 0) continue;
          row.push_back(std::int32_t(whole.columns().offset(j) + q + 1));
          value.push_back(number);
        }
      }
    }
  }
  head[elements] = std::int64_t(row.size());
  AtomicFile target(path);
  target.write(head.data(), sizeof head);
  target.write(start.data(), start.size() * sizeof(std::int64_t));
  target.write(row.data(), row.size() * sizeof(std::int32_t));
  target.write(value.data(), value.size() * sizeof(double));
  target.commit();
}

Matrix read_on_one_rank(const std::string& path, const std::string& dataset, const BlockSizes& sizes) {
  const Format format = format_of(path);
  const auto require_size = [&](std::int64_t n) {
    if (n == sizes.total()) return;
    fail(path,
         fmt::format("has {} rows, but the sizes of the {} blocks add up to {}", n, sizes.count(), sizes.total()));
  };
  if (format == Format::hdf5) {
    require_size(read_matrix_size(path, dataset));
    const Hdf5Array array = Hdf5Reader(path).read(dataset, 2);
    return symmetric_half(path, Matrix::from_dense(array.data, sizes, sizes));
  }
  const Elements elements = format == Format::elsi ? ElsiReader(path).read_all() : Cp2kElements(path).read(format);
  require_size(elements.n);
  return symmetric_half(path, blocks_of(elements, sizes));
}

/// Numbers between white space and commas.
template <class T, class Good>
std::vector<T> read_text(const std::string& path, Good good, const std::string& complaint) {
  std::ifstream stream(path);
  if (!stream) fail(path, "cannot be opened");
  std::vector<T> out;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    for (std::size_t at = text.find_first_not_of(" \t\r,"); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(" \t\r,", at), text.size());
      T number{};
      const auto [last, error] = std::from_chars(text.data() + at, text.data() + end, number);
      if (error != std::errc() || last != text.data() + end || !good(number)) {
        throw Error(ErrorCode::invalid_input, "'" + text.substr(at, end - at) + "' " + complaint,
                    Location{.file = path, .line = line, .column = int(at) + 1});
      }
      out.push_back(number);
      at = text.find_first_not_of(" \t\r,", end);
    }
  }
  return out;
}

}  // namespace

BlockSizes read_block_sizes(const std::string& path) {
  std::vector<std::int32_t> sizes = read_text<std::int32_t>(
      path, [](std::int32_t size) { return size > 0; },
      "is not the size of a block: it must be a whole number above 0");
  if (sizes.empty()) fail(path, "has no block sizes");
  return BlockSizes(std::move(sizes));
}

std::vector<double> read_numbers(const std::string& path, std::size_t count, const std::string& what) {
  std::vector<double> out = read_text<double>(
      path, [](double number) { return std::isfinite(number); }, "is not a finite number");
  if (out.size() == count) return out;
  fail(path, fmt::format("has {} numbers, but {} need {}", out.size(), what, count));
}

std::int64_t read_matrix_size(const std::string& path, const std::string& dataset) {
  const Format format = format_of(path);
  if (format == Format::elsi) return ElsiReader(path).n();
  if (format != Format::hdf5) return Cp2kElements(path).read(format).n;
  const std::vector<std::int64_t> dims = Hdf5Reader(path).dims(dataset, 2);
  if (dims[0] == dims[1]) return dims[0];
  throw Error(ErrorCode::file, fmt::format("must be square, but is {} x {}", dims[0], dims[1]),
              Location{.file = path, .dataset = dataset});
}

Matrix read_symmetric(const std::string& path, const std::string& dataset, const BlockSizes& sizes) {
  return made_on_first(sizes, Symmetry::symmetric,
                       [&](const BlockSizes& alone) { return read_on_one_rank(path, dataset, alone); });
}

void write_symmetric(const std::string& path, const std::string& dataset, const Matrix& a, double electrons) {
  const Matrix whole = collected(a);
  const auto write = [&] {
    if (path.ends_with(".csc")) return write_elsi(path, whole, electrons);
    write_hdf5(path, dataset, {{whole.rows().total(), whole.columns().total()}, whole.to_dense()});
  };
  a.grid() ? on_first_rank(a.grid()->ranks(), write) : write();
}

}  // namespace quadrille::block_dft
