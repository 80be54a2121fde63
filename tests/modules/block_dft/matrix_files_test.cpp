// Matrices in files: what is written is read, and what is damaged is named.
#include "modules/block_dft/files/matrix_files.h"

#include "core/error.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "tests/modules/block_dft/dense.h"
#include "tests/testing/hdf5_testing.h"
#include "tests/testing/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::add_dataset;
using quadrille::testing::TemporaryFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

template <class T>
void replace(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

TEST(MatrixFiles, WhatIsWrittenIsRead) {
  const TemporaryFolder folder;
  const BlockSizes sizes = some_sizes(9);
  const Matrix a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 0.4, next_seed());
  for (const char* name : {"a.h5", "a.csc"}) {
    write_symmetric(folder.file(name), "A", a, 12);
    EXPECT_EQ(elements_of_file(folder.file(name), "A")->size_in_head(), sizes.total());
    const Matrix back = read_symmetric(folder.file(name), "A", sizes);
    EXPECT_EQ(back.to_dense(), a.to_dense()) << name;
    EXPECT_EQ(back.block_count(), a.block_count()) << name;
    EXPECT_THAT(message_of([&] { read_symmetric(folder.file(name), "A", BlockSizes({1})); }),
                HasSubstr("but the sizes of the 1 blocks add up to 1"));
  }
}

TEST(MatrixFiles, ElsiIsReadByColumnsFromOne) {
  const TemporaryFolder folder;
  // [[1, 3], [3, 2]] with its first element in two parts.
  std::string bytes;
  const auto push = [&](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (std::int64_t word : {170915, -910910, 0, 2, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) push(word);
  for (std::int64_t start : {1, 3}) push(start);
  for (std::int32_t row : {1, 2, 1, 2}) push(row);
  for (double value : {1.0, 3.0, 3.0, 2.0}) push(value);
  write_bytes(folder.file("a.csc"), bytes);
  EXPECT_EQ(read_symmetric(folder.file("a.csc"), "", BlockSizes({1, 1})).to_dense(), (std::vector<double>{1, 3, 3, 2}));
}

TEST(MatrixFiles, DamagedFilesAreNamed) {
  const TemporaryFolder folder;
  const BlockSizes sizes({2, 3, 1});
  const Matrix a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, next_seed());
  write_symmetric(folder.file("good.csc"), "", a, 0);
  const std::string good = bytes_of(folder.file("good.csc"));
  const auto message = [&](const std::string& bytes) {
    write_bytes(folder.file("bad.csc"), bytes);
    return message_of([&] { read_symmetric(folder.file("bad.csc"), "", sizes); });
  };
  EXPECT_EQ(message(good), "");
  for (const std::size_t bytes :
       {std::size_t(0), std::size_t(100), std::size_t(128), good.size() / 2, good.size() - 1}) {
    EXPECT_THAT(message(good.substr(0, bytes)),
                AllOf(HasSubstr("bad.csc"), HasSubstr(bytes < 128 ? "fewer than the header of ELSI CSC" : "ELSI CSC")))
        << bytes;
  }
  std::string bad = good;
  replace(bad, 24, std::int64_t(-5));
  EXPECT_THAT(message(bad), HasSubstr("-5 columns"));
  bad = good;
  replace(bad, 16, std::int64_t(1));
  EXPECT_THAT(message(bad), HasSubstr("complex"));
  bad = good;
  replace(bad, 128 + 8, std::int64_t(1) << 40);
  EXPECT_THAT(message(bad), HasSubstr("column 2 begins at element 1099511627776"));
  bad = good;
  replace(bad, 128 + 8 * 6, std::int32_t(7));
  EXPECT_THAT(message(bad), AllOf(HasSubstr("byte 176"), HasSubstr("element 1 is in row 7: rows are 1 to 6")));
  bad = good;
  for (const double value : {NAN, INFINITY, -INFINITY}) {
    replace(bad, 128 + 8 * 6 + 4 * 36 + 8, value);
    EXPECT_THAT(message(bad),
                AllOf(HasSubstr("byte 328"), HasSubstr(fmt::format("element 2 in row 2 is {}: it must be", value))));
  }
  bad = good;
  replace(bad, 128 + 8 * 6 + 4 * 36 + 8, 123.0);
  EXPECT_THAT(message(bad), HasSubstr("must be symmetric: elements [1, 2] and [2, 1] differ"));
}

/// As CP2K prints elements, whole or the upper triangle.
std::string cp2k_dump(const Matrix& a, bool binary, bool upper) {
  const std::vector<double> dense = a.to_dense();
  const std::int32_t n = std::int32_t(a.rows().total());
  std::string out;
  for (std::int32_t p = 0; p < n; ++p) {
    for (std::int32_t q = upper ? p : 0; q < n; ++q) {
      const double value = dense[std::size_t(p) * std::size_t(n) + std::size_t(q)];
      if (value == 0) continue;
      if (binary) {
        const auto push = [&](auto word) { out.append(reinterpret_cast<const char*>(&word), sizeof word); };
        push(std::int32_t(16));
        push(p + 1);
        push(q + 1);
        push(value);
        push(std::int32_t(16));
      } else {
        char line[64];
        std::snprintf(line, sizeof line, "%8d%8d%22.14E\n", int(p + 1), int(q + 1), value);
        out += line;
        out.insert(out.size() - 3, 1, '0');  // E23.14E3 of Fortran: three digits of the exponent
      }
    }
  }
  return out;
}

TEST(MatrixFiles, DumpsOfCp2k) {
  const TemporaryFolder folder;
  const BlockSizes sizes = some_sizes(6);
  Matrix a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 0.4, next_seed());
  add_identity(a, 5.0);
  const std::string file = folder.file("a.csr");
  for (const bool binary : {false, true}) {
    for (const bool upper : {false, true}) {
      write_bytes(file, cp2k_dump(a, binary, upper));
      EXPECT_EQ(elements_of_file(file, "")->size(), sizes.total());
      EXPECT_EQ(elements_of_file(file, "")->size_in_head(), std::nullopt);
      const double error = largest_difference(dense_of(read_symmetric(file, "", sizes)), dense_of(a));
      EXPECT_LE(error, binary ? 0 : 1e-12);
    }
  }
}

TEST(MatrixFiles, DamagedDumpsOfCp2kAreNamed) {
  const TemporaryFolder folder;
  const BlockSizes sizes({2, 1});
  Matrix a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 1, next_seed());
  const auto message = [&](const std::string& bytes) {
    write_bytes(folder.file("bad.csr"), bytes);
    return message_of([&] { read_symmetric(folder.file("bad.csr"), "", sizes); });
  };
  const std::string text = cp2k_dump(a, false, false), binary = cp2k_dump(a, true, false);
  EXPECT_EQ(message(text), "");
  EXPECT_EQ(message(binary), "");
  EXPECT_THAT(message(text.substr(0, text.size() - 1)), HasSubstr("bad.csr:9: ends early"));
  EXPECT_THAT(message(text.substr(0, 3 * 40)), HasSubstr("ends early: there are 3 columns, but the last row is 1"));
  EXPECT_THAT(message(text.substr(0, 7 * 40)), HasSubstr("must be symmetric: elements [2, 3] and [3, 2] differ"));
  EXPECT_THAT(message(text + "  3 3\n"), HasSubstr("bad.csr:10: '  3 3' is not row, column and one real value"));
  EXPECT_THAT(message(text + "  3 3 1 2\n"), HasSubstr("one real value"));
  for (const std::string value : {"nan", "inf", "-inf"}) {
    EXPECT_THAT(message(text + "  3 3 " + value + "\n"),
                HasSubstr("bad.csr:10: element (3, 3) is " + value + ": it must be finite"));
  }
  EXPECT_THAT(message(text + "  0 3 1\n"), HasSubstr("rows and columns count from 1"));
  EXPECT_THAT(message(text + "  1 3 1\n"), HasSubstr("must be symmetric: elements [1, 3] and [3, 1] differ by 1"));
  EXPECT_THAT(message(text + "  4 4 1\n"), HasSubstr("has 4 rows, but the sizes of the 2 blocks add up to 3"));
  EXPECT_THAT(message(binary.substr(0, binary.size() - 5)), HasSubstr("ends early, within element 9"));
  std::string bad = binary;
  for (const double value : {NAN, INFINITY, -INFINITY}) {
    replace(bad, 3 * 24 + 12, value);
    EXPECT_THAT(message(bad),
                AllOf(HasSubstr("byte 72"), HasSubstr(fmt::format("element (2, 1) is {}: it must be finite", value))));
  }
  bad = binary;
  replace(bad, 24, std::int32_t(24));  // complex numbers
  EXPECT_THAT(message(bad), AllOf(HasSubstr("byte 24"), HasSubstr("the record has 24 bytes")));
}

TEST(MatrixFiles, LinesOfAnyNumberAreNamed) {
  for (const std::int64_t line : {std::int64_t(7), (std::int64_t(1) << 31) - 1, std::int64_t(1) << 31}) {
    EXPECT_EQ(to_string(place_of_line("a.csr", line)), fmt::format("a.csr:{}", line));
  }
}

TEST(MatrixFiles, NumbersOfText) {
  const TemporaryFolder folder;
  write_bytes(folder.file("q"), "1.5, -2e3\n4\n");
  EXPECT_EQ(read_numbers(folder.file("q"), 3, ""), (std::vector<double>{1.5, -2000, 4}));
  EXPECT_THAT(message_of([&] { read_numbers(folder.file("q"), 4, "the charges of 4 atoms"); }),
              HasSubstr("has 3 numbers, but the charges of 4 atoms need 4"));
  write_bytes(folder.file("q"), "1 inf\n");
  EXPECT_THAT(message_of([&] { read_numbers(folder.file("q"), 2, ""); }), HasSubstr("q:1:3: 'inf' is not a finite"));
}

TEST(MatrixFiles, MatricesOfHdf5MustBeSquareAndSymmetric) {
  const TemporaryFolder folder;
  add_dataset(folder.file("a.h5"), "wide", {2, 3}, {1, 2, 3, 4, 5, 6});
  add_dataset(folder.file("a.h5"), "skew", {2, 2}, {1, 2, 3, 4});
  add_dataset(folder.file("a.h5"), "rounded", {2, 2}, {1, 2, 2 + 1e-12, 4});
  add_dataset(folder.file("a.h5"), "unknown", {2, 2}, {1, 2, NAN, 4});
  add_dataset(folder.file("a.h5"), "endless", {2, 2}, {1, 2, 2, -INFINITY});
  const BlockSizes sizes({1, 1});
  const auto message = [&](const char* dataset) {
    return message_of([&] { read_symmetric(folder.file("a.h5"), dataset, sizes); });
  };
  EXPECT_THAT(message("wide"), HasSubstr("must be square, but is 2 x 3"));
  EXPECT_THAT(message("skew"), HasSubstr("elements [0, 1] and [1, 0] differ by 1"));
  EXPECT_EQ(message("rounded"), "");
  EXPECT_THAT(message("unknown"), HasSubstr("dataset unknown: element [1, 0] is nan, must be finite"));
  EXPECT_THAT(message("endless"), HasSubstr("dataset endless: element [1, 1] is -inf, must be finite"));
  EXPECT_THAT(message("none"), HasSubstr("no dataset 'none'"));
}

/// All elements of a file that are not 0, in the order of rows, in pieces of at most `most`.
std::vector<double> in_pieces(ElementSource& source, std::size_t most, const std::function<void()>& after_the_first) {
  const std::size_t n = std::size_t(source.size());
  std::vector<double> out(n * n);
  std::vector<Element> piece;
  for (int pieces = 0; source.next(most, piece), !piece.empty(); ++pieces) {
    EXPECT_LE(piece.size(), most);
    for (const Element& e : piece) {
      double& to = out[std::size_t(e.row) * n + std::size_t(e.column)];
      EXPECT_EQ(to, 0) << "given twice";
      to = e.value;
    }
    if (pieces == 0) after_the_first();
  }
  return out;
}

std::vector<double> random_numbers(std::size_t count) {
  std::mt19937_64 random(next_seed());
  std::uniform_real_distribution<double> uniform(0.5, 1);
  std::vector<double> out(count);
  for (double& x : out) x = uniform(random);
  return out;
}

TEST(MatrixFiles, PiecesFollowTheChunksOfHdf5) {
  const TemporaryFolder folder;
  const std::vector<double> numbers = random_numbers(61 * 61);
  int number = 0;
  for (const std::vector<hsize_t>& chunk :
       {std::vector<hsize_t>{}, {1, 61}, {61, 1}, {7, 9}, {20, 61}, {61, 61}, {61, 40}}) {
    const std::string file = folder.file(std::to_string(number++));
    add_dataset(file, "S", {61, 61}, numbers, H5T_IEEE_F64LE, chunk);
    const auto source = elements_of_file(file, "S");
    for (const std::size_t most : {1, 10, 61, 100, 1000, 10000}) {
      EXPECT_EQ(in_pieces(*source, most, [] {}), numbers) << file << " in pieces of " << most;
    }
  }
}

/// What is changed in the file afterwards does not count: HDF5 would otherwise unpack the chunk for every piece again.
TEST(MatrixFiles, ALargeChunkIsUnpackedOnce) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.h5");
  constexpr hsize_t n = 600;
  const std::vector<double> numbers = random_numbers(n * n);
  add_dataset(file, "S", {n, n}, numbers, H5T_IEEE_F64LE, {n, n});
  const std::size_t bytes = bytes_of(file).size();
  ASSERT_GT(bytes, std::size_t(2) << 20);  // more than HDF5 keeps by itself
  const auto source = elements_of_file(file, "S");
  const auto damage = [&] {
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    stream.seekp(std::streamoff(bytes / 4));
    stream << std::string(bytes / 2, 'x');
  };
  EXPECT_EQ(in_pieces(*source, 10 * n, damage), numbers);
}

TEST(MatrixFiles, SizesOfBlocks) {
  const TemporaryFolder folder;
  write_bytes(folder.file("sizes"), "23 13,5\n\n 7\n");
  EXPECT_EQ(read_block_sizes(folder.file("sizes")).sizes(), (std::vector<std::int32_t>{23, 13, 5, 7}));
  write_bytes(folder.file("sizes"), "23\n13 5x\n");
  EXPECT_THAT(message_of([&] { read_block_sizes(folder.file("sizes")); }),
              HasSubstr("sizes:2:4: '5x' is not the size"));
  write_bytes(folder.file("sizes"), "");
  EXPECT_THAT(message_of([&] { read_block_sizes(folder.file("sizes")); }), HasSubstr("has no block sizes"));
  EXPECT_THAT(message_of([&] { read_block_sizes(folder.file("absent")); }), HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace quadrille::block_dft
