#include "modules/block_dft/matrix_files.h"

#include "core/error.h"
#include "core/system/atomic_file.h"
#include "modules/block_dft/block_algebra.h"
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

bool is_hdf5(const std::string& path) {
  static constexpr unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  char head[8] = {};
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(path, "cannot be opened");
  stream.read(head, sizeof head);
  return stream.gcount() == sizeof head && std::memcmp(head, signature, sizeof head) == 0;
}

// ---- ELSI CSC: a head of 16 64-bit integers, n column starts of 64 bits, row indices of 32, values of 64; all from 1
// ----

enum ElsiHead { version = 0, kind = 2, size = 3, electron_count = 4, elements = 5, head_length = 16 };
constexpr std::int64_t elsi_version = 170915, elsi_unset = -910910, elsi_real = 0;

struct ElsiFile {
  std::int64_t n = 0, count = 0;
  std::vector<std::int64_t> start;  // [column], from 1
  std::vector<std::int32_t> row;    // [element], from 1
  std::vector<double> value;
};

class ElsiReader {
 public:
  explicit ElsiReader(const std::string& path) : path_(path), stream_(path, std::ios::binary | std::ios::ate) {
    if (!stream_) fail(path_, "cannot be opened");
    bytes_ = std::int64_t(stream_.tellg());
    stream_.seekg(0);
    std::array<std::int64_t, head_length> head{};
    if (bytes_ < std::int64_t(sizeof head)) {
      fail(path_,
           fmt::format("is neither HDF5 nor ELSI CSC: it has {} bytes, less than the head of the latter", bytes_));
    }
    read(head.data(), head.size());
    if (head[kind] != elsi_real) fail(path_, "holds complex numbers; real ones are needed", 8 * kind);
    file_.n = head[size];
    file_.count = head[elements];
    constexpr std::int64_t most = std::int64_t(1) << 31;
    const bool possible = file_.n >= 1 && file_.n < most && file_.count >= 0 && file_.count <= bytes_ / 12;
    const std::int64_t needed = possible ? std::int64_t(sizeof head) + 8 * file_.n + 12 * file_.count : -1;
    if (needed != bytes_) {
      fail(
          path_,
          fmt::format("is neither HDF5 nor a whole ELSI CSC: {} columns and {} elements do not make a file of {} bytes",
                      file_.n, file_.count, bytes_),
          8 * size);
    }
  }
  std::int64_t n() const { return file_.n; }

  ElsiFile read_all() {
    file_.start.resize(std::size_t(file_.n));
    file_.row.resize(std::size_t(file_.count));
    file_.value.resize(std::size_t(file_.count));
    read(file_.start.data(), file_.start.size());
    read(file_.row.data(), file_.row.size());
    read(file_.value.data(), file_.value.size());
    check_index();
    return std::move(file_);
  }

 private:
  template <class T>
  void read(T* to, std::size_t count) {
    stream_.read(reinterpret_cast<char*>(to), std::streamsize(count * sizeof(T)));
    if (!stream_) fail(path_, "ends early");
  }

  void check_index() {
    file_.start.push_back(file_.count + 1);
    for (std::size_t column = 0; column < std::size_t(file_.n); ++column) {
      if ((column == 0 && file_.start[0] != 1) || file_.start[column] > file_.start[column + 1]) {
        fail(path_, fmt::format("column {} begins at element {}: the file is damaged", column + 1, file_.start[column]),
             8 * (head_length + std::int64_t(column)));
      }
    }
    for (std::size_t k = 0; k < file_.row.size(); ++k) {
      const std::int64_t at = 8 * (head_length + file_.n) + 4 * std::int64_t(k);
      if (file_.row[k] < 1 || file_.row[k] > file_.n) {
        fail(path_, fmt::format("element {} is in row {} of {}", k + 1, file_.row[k], file_.n), at);
      }
      if (!std::isfinite(file_.value[k])) {
        throw Error(ErrorCode::numerical,
                    fmt::format("element {} in row {} is {}, must be finite", k + 1, file_.row[k], file_.value[k]),
                    Location{.file = path_});
      }
    }
  }

  std::string path_;
  std::ifstream stream_;
  std::int64_t bytes_ = 0;
  ElsiFile file_;
};

/// The whole matrix, without a symmetry.
Matrix blocks_of(const ElsiFile& file, const BlockSizes& sizes) {
  std::vector<std::int32_t> block_of(std::size_t(file.n));
  for (std::int32_t b = 0; b < sizes.count(); ++b) {
    std::fill(block_of.begin() + sizes.offset(b), block_of.begin() + sizes.offset(b + 1), b);
  }
  const auto for_each = [&](auto&& body) {
    for (std::int64_t column = 0; column < file.n; ++column) {
      for (std::int64_t k = file.start[std::size_t(column)] - 1; k < file.start[std::size_t(column) + 1] - 1; ++k) {
        body(file.row[std::size_t(k)] - 1, column, file.value[std::size_t(k)]);
      }
    }
  };
  std::vector<BlockPlace> places;
  for_each([&](std::int64_t p, std::int64_t q, double) {
    const BlockPlace place{block_of[std::size_t(p)], block_of[std::size_t(q)]};
    if (places.empty() || places.back() != place) places.push_back(place);
  });
  Matrix out(sizes, sizes);
  out.reserve(places);
  for_each([&](std::int64_t p, std::int64_t q, double value) {
    const std::int32_t i = block_of[std::size_t(p)], j = block_of[std::size_t(q)];
    out.block(out.find(i, j))[(p - sizes.offset(i)) * sizes.size(j) + q - sizes.offset(j)] += value;
  });
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

}  // namespace

BlockSizes read_block_sizes(const std::string& path) {
  std::ifstream stream(path);
  if (!stream) fail(path, "cannot be opened");
  std::vector<std::int32_t> sizes;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    for (std::size_t at = text.find_first_not_of(" \t\r,"); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(" \t\r,", at), text.size());
      std::int32_t number = 0;
      const auto [last, error] = std::from_chars(text.data() + at, text.data() + end, number);
      if (error != std::errc() || last != text.data() + end || number < 1) {
        throw Error(ErrorCode::invalid_input,
                    "'" + text.substr(at, end - at) + "' is not the size of a block: whole numbers above 0 are",
                    Location{.file = path, .line = line, .column = int(at) + 1});
      }
      sizes.push_back(number);
      at = text.find_first_not_of(" \t\r,", end);
    }
  }
  if (sizes.empty()) fail(path, "has no sizes of blocks");
  return BlockSizes(std::move(sizes));
}

std::int64_t read_matrix_size(const std::string& path, const std::string& dataset) {
  if (!is_hdf5(path)) return ElsiReader(path).n();
  const std::vector<std::int64_t> dims = Hdf5Reader(path).dims(dataset, 2);
  if (dims[0] == dims[1]) return dims[0];
  throw Error(ErrorCode::file, fmt::format("must be square, is {} x {}", dims[0], dims[1]),
              Location{.file = path, .dataset = dataset});
}

Matrix read_symmetric(const std::string& path, const std::string& dataset, const BlockSizes& sizes) {
  const std::int64_t n = read_matrix_size(path, dataset);
  if (n != sizes.total()) {
    fail(path,
         fmt::format("has {} rows, but the sizes of the {} blocks add up to {}", n, sizes.count(), sizes.total()));
  }
  if (!is_hdf5(path)) return symmetric_half(path, blocks_of(ElsiReader(path).read_all(), sizes));
  const Hdf5Array array = Hdf5Reader(path).read(dataset, 2);
  return symmetric_half(path, Matrix::from_dense(array.data, sizes, sizes));
}

void write_symmetric(const std::string& path, const std::string& dataset, const Matrix& a, double electrons) {
  if (path.ends_with(".csc")) return write_elsi(path, a, electrons);
  write_hdf5(path, dataset, {{a.rows().total(), a.columns().total()}, a.to_dense()});
}

}  // namespace quadrille::block_dft
