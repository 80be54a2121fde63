// Matrix Market, and complex matrices in HDF5 and ELSI CSC: what is written is read, and what is damaged is named.
#include "modules/shared/elements/matrix_elements.h"

#include "core/error.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "tests/testing/hdf5_testing.h"
#include "tests/testing/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <filesystem>
#include <fstream>

namespace quadrille {
namespace {

using Complex = std::complex<double>;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

/// Row by row, read in pieces of `most`.
template <class T>
std::vector<T> dense(const std::string& path, std::size_t most = 3) {
  const auto source = elements_of_file<T>(path, "A");
  const auto n = std::size_t(source->size());
  std::vector<T> first(n * n), second(n * n);
  std::vector<MatrixElement<T>> piece;
  for (std::vector<T>* out : {&first, &second}) {  // elements begin again
    for (source->next(most, piece); !piece.empty(); source->next(most, piece)) {
      for (const auto& e : piece) (*out)[std::size_t(e.row) * n + std::size_t(e.column)] += e.value;
    }
  }
  EXPECT_EQ(first, second);
  return first;
}

class MatrixMarket : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(path_) << text;
    return path_;
  }
  template <class T = double>
  std::string message(const std::string& text) {
    write(text);
    try {
      (void)dense<T>(path_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("a.mtx");
};

TEST_F(MatrixMarket, EveryFormIsRead) {
  EXPECT_THAT(dense<double>(write("%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 2 3\n1 1 1.5\n"
                                  "  2 1 -2e0\r\n1 2 +3\n")),
              ElementsAre(1.5, 3, -2, 0));
  EXPECT_THAT(dense<double>(write("%%matrixmarket MATRIX Coordinate Integer Symmetric\n3 3 3\n1 1 1\n3 1 4\n2 2 5")),
              ElementsAre(1, 0, 4, 0, 5, 0, 4, 0, 0));
  EXPECT_THAT(dense<double>(write("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n")),
              ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(dense<double>(write("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n")),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(dense<double>(write("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"), 1),
              ElementsAre(1, 2, 3, 2, 4, 5, 3, 5, 6));
  const std::string hermitian = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 1 0\n2 1 2 3\n";
  EXPECT_THAT(dense<Complex>(write(hermitian)), ElementsAre(1, Complex(2, -3), Complex(2, 3), 0));
  EXPECT_TRUE(holds_complex_elements(path_, ""));
  EXPECT_THAT(dense<Complex>(write("%%MatrixMarket matrix array complex symmetric\n2 2\n1 0\n2 3\n4 0\n")),
              ElementsAre(1, Complex(2, 3), Complex(2, 3), 4));
  EXPECT_THAT(dense<Complex>(write("%%MatrixMarket matrix array real general\n1 1\n7\n")), ElementsAre(7));
  EXPECT_FALSE(holds_complex_elements(path_, ""));
  EXPECT_THAT(message(hermitian), HasSubstr("a.mtx:1: holds complex numbers; real ones are needed"));
}

TEST_F(MatrixMarket, DamageIsNamed) {
  const std::string head = "%%MatrixMarket matrix coordinate real symmetric\n";
  EXPECT_THAT(message("%%MatrixMarket vector array real general\n1 1\n1\n"), HasSubstr("must begin with"));
  EXPECT_THAT(message("%%MatrixMarket matrix sparse real general\n"),
              HasSubstr("'sparse' must be coordinate or array"));
  EXPECT_THAT(message("%%MatrixMarket matrix array pattern general\n"), HasSubstr("'pattern' must be"));
  EXPECT_THAT(message("%%MatrixMarket matrix array real skew-symmetric\n"), HasSubstr("is skew-symmetric"));
  EXPECT_THAT(message("%%MatrixMarket matrix array real\n"), HasSubstr("'' must be general, symmetric or hermitian"));
  EXPECT_THAT(message(head), HasSubstr("ends early: it must have a line with rows, columns and elements"));
  EXPECT_THAT(message(head + "2 3 1\n1 1 1\n"), HasSubstr("a.mtx:2: must be square, but is 2 x 3"));
  EXPECT_THAT(message(head + "0 0 0\n"), HasSubstr("0 rows: they must be 1 to 2147483647"));
  EXPECT_THAT(message(head + "4000000000 4000000000 1\n"), HasSubstr("4000000000 rows"));
  EXPECT_THAT(message(head + "2 2 -1\n"), HasSubstr("-1 elements"));
  EXPECT_THAT(message(head + "2 2 1 1\n"), HasSubstr("'2 2 1 1' is not rows, columns and elements"));
  EXPECT_THAT(message(head + "2 2 2\n1 1 1\n"), HasSubstr("ends early: it has 1 of 2 elements"));
  EXPECT_THAT(message(head + "2 2 1\n1 1 1\n2 2 1\n"), HasSubstr("has more than the 1 elements"));
  EXPECT_THAT(message(head + "2 2 1\n1 2 1\n"), HasSubstr("element (1, 2) is above the diagonal"));
  EXPECT_THAT(message(head + "2 2 1\n% x\n3 1 1\n"), HasSubstr("a.mtx:4: rows and columns are 1 to 2, not 3"));
  EXPECT_THAT(message(head + "2 2 1\n1 1\n"), HasSubstr("'1 1' is not row, column and a number"));
  EXPECT_THAT(message(head + "2 2 1\n1 1 1 0\n"), HasSubstr("'1 1 1 0' is not row, column and a number"));
  EXPECT_THAT(message(head + "2 2 1\n1 1 1.0x\n"), HasSubstr("is not row, column and a number"));
  EXPECT_THAT(message(head + "2 2 1\n2 1 nan\n"), HasSubstr("a.mtx:3: element (2, 1) is nan: it must be finite"));
  EXPECT_THAT(message<Complex>("%%MatrixMarket matrix array complex general\n1 1\n1 inf\n"),
              HasSubstr("element (1, 1) is inf"));
  EXPECT_THAT(message("%%MatrixMarkt matrix array real general\n"),
              HasSubstr("must begin with '%%MatrixMarket matrix'"));
  EXPECT_THAT(message("MatrixMarket"), HasSubstr("is neither HDF5, nor Matrix Market"));
}

TEST(ComplexElements, PairsAndCompoundsOfHdf5) {
  const TemporaryFolder folder;
  const std::vector<Complex> numbers{1, {2, 3}, {2, -3}, 4};
  const std::string compound = folder.file("c.h5"), pairs = folder.file("p.h5"), real = folder.file("r.h5");
  {
    Hdf5Writer writer(compound);
    writer.create("A", {2, 2}, true);
    writer.rows(1, numbers.data());
    writer.rows(1, numbers.data() + 2);
    writer.commit();
  }
  testing::add_dataset(pairs, "A", {2, 2, 2}, {1, 0, 2, 3, 2, -3, 4, 0}, H5T_IEEE_F32BE);
  testing::add_dataset(real, "A", {2, 2}, {1, 2, 3, 4});
  for (const std::string& path : {compound, pairs}) {
    EXPECT_TRUE(holds_complex_elements(path, "A"));
    EXPECT_EQ(dense<Complex>(path), numbers) << path;
    EXPECT_THROW(elements_of_file(path, "A"), Error);
    EXPECT_THROW(Hdf5Reader(path).read("A", 2), Error);
  }
  EXPECT_FALSE(holds_complex_elements(real, "A"));
  EXPECT_THAT(dense<Complex>(real), ElementsAre(1, 2, 3, 4));

  const auto message = [&](const std::string& path) -> std::string {
    try {
      (void)dense<Complex>(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  testing::add_dataset(folder.file("three.h5"), "A", {2, 2, 3}, std::vector<double>(12));
  EXPECT_THAT(message(folder.file("three.h5")),
              HasSubstr("2 numbers, real and imaginary part, in the last, which has 3"));
  testing::add_dataset(folder.file("nan.h5"), "A", {1, 1, 2}, {0, NAN});
  EXPECT_THAT(message(folder.file("nan.h5")), HasSubstr("element [0, 0, 1] is nan"));
  {
    const std::vector<Complex> bad{1, 2, {0, INFINITY}, 4};
    Hdf5Writer writer(folder.file("inf.h5"));
    writer.create("A", {2, 2}, true);
    writer.rows(2, bad.data());
    writer.commit();
  }
  EXPECT_THAT(message(folder.file("inf.h5")), HasSubstr("element [1, 0] is inf"));
}

TEST(ComplexElements, CompoundsOfOtherNamesAreRefused) {
  const TemporaryFolder folder;
  const auto message = [&](const char* first, const char* second, hid_t part) -> std::string {
    const std::string path = folder.file("x.h5");
    std::filesystem::remove(path);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t dims[] = {1, 1};
    const hid_t space = H5Screate_simple(2, dims, nullptr), type = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(type, first, 0, part);
    H5Tinsert(type, second, 8, part);
    const hid_t set = H5Dcreate2(file, "A", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const double numbers[] = {1, 0};
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers);
    H5Dclose(set), H5Tclose(type), H5Sclose(space), H5Fclose(file);
    try {
      (void)dense<Complex>(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("re", "im", H5T_NATIVE_DOUBLE), "");
  EXPECT_EQ(message("Real", "Imag", H5T_NATIVE_DOUBLE), "");
  EXPECT_THAT(message("x", "y", H5T_NATIVE_DOUBLE), HasSubstr("called r and i"));
  EXPECT_THAT(message("r", "i", H5T_NATIVE_INT64), HasSubstr("called r and i"));
}

TEST(ComplexElements, ElsiHasPairsOfNumbers) {
  const TemporaryFolder folder;
  std::string bytes;
  const auto push = [&](auto value) { bytes.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (std::int64_t word : {170915, -910910, 1, 2, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}) push(word);
  for (std::int64_t start : {1, 3}) push(start);
  for (std::int32_t row : {1, 2, 1}) push(row);
  for (double value : {1.0, 0.0, 3.0, 2.0, 3.0, -2.0}) push(value);
  const std::string path = folder.file("a.csc");
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_TRUE(holds_complex_elements(path, ""));
  EXPECT_THAT(dense<Complex>(path), ElementsAre(1, Complex(3, -2), Complex(3, 2), 0));
  EXPECT_THROW(elements_of_file(path, ""), Error);
}

}  // namespace
}  // namespace quadrille
