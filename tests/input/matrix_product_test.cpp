// The task matrix_product as the program runs it.
#include "input/program.h"
#include "modules/hdf5_file.h"
#include "tests/random_seed.h"
#include "tests/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

namespace quadrille {
namespace {

using ::testing::HasSubstr;

Hdf5Array random_matrix(std::int64_t rows, std::int64_t columns) {
  std::mt19937_64 random(testing::next_seed());
  std::uniform_real_distribution<double> uniform(-1, 1);
  Hdf5Array out{{rows, columns}, std::vector<double>(std::size_t(rows * columns))};
  for (double& x : out.data) x = uniform(random);
  return out;
}

Hdf5Array transposed(const Hdf5Array& a) {
  Hdf5Array out{{a.dims[1], a.dims[0]}, std::vector<double>(a.data.size())};
  for (std::int64_t r = 0; r < a.dims[0]; ++r) {
    for (std::int64_t c = 0; c < a.dims[1]; ++c) {
      out.data[std::size_t(c * a.dims[0] + r)] = a.data[std::size_t(r * a.dims[1] + c)];
    }
  }
  return out;
}

/// The largest |C - alpha A B|, element by element.
double largest_error(const Hdf5Array& a, const Hdf5Array& b, double alpha, const Hdf5Array& c) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.dims[0]; ++i) {
    for (std::int64_t j = 0; j < b.dims[1]; ++j) {
      long double sum = 0;
      for (std::int64_t k = 0; k < a.dims[1]; ++k) {
        sum += (long double)(a.data[std::size_t(i * a.dims[1] + k)]) * b.data[std::size_t(k * b.dims[1] + j)];
      }
      largest = std::max(largest, std::abs(double(alpha * sum - c.data[std::size_t(i * b.dims[1] + j)])));
    }
  }
  return largest;
}

class MatrixProduct : public ::testing::Test {
 protected:
  /// Runs `quadrille run` on a job of one task; what it says on standard error where it fails.
  std::string run(const std::string& task) {
    std::ofstream(folder_.file("job.yaml")) << "run: [{task: matrix_product, " << task << "}]\n";
    std::ostringstream out, err;
    const int status = run_program(
        {"run", folder_.file("job.yaml"), "--out", folder_.file("out"), "--force", "--backend", "cpu"}, out, err);
    if (status != 0) return err.str();
    std::ifstream(folder_.file("out/results.json")) >> results_;
    return "";
  }

  testing::TemporaryFolder folder_;
  nlohmann::json results_;
};

TEST_F(MatrixProduct, EveryPrecisionAndTransposeGivesTheProduct) {
  const Hdf5Array a = random_matrix(17, 40), b = random_matrix(40, 23);
  write_hdf5(folder_.file("a.h5"), "A", a);
  write_hdf5(folder_.file("at.h5"), "left", transposed(a));
  write_hdf5(folder_.file("b.h5"), "B", b);
  write_hdf5(folder_.file("bt.h5"), "B", transposed(b));
  for (const char* left : {"a.h5", "{file: at.h5, dataset: left, transpose: true}"}) {
    for (const char* right : {"b.h5", "{file: bt.h5, transpose: true}"}) {
      for (const auto& [more, error] : {std::pair{"precision: double", 1e-14}, std::pair{"precision: single", 1e-5},
                                        std::pair{"precision: mgemm, delta: 0.5, always_split: true", 1e-5},
                                        std::pair{"precision: mgemm, target_error: 1.0e-9", 1e-9},
                                        std::pair{"precision: mgemm, delta: auto, target_error: 1.0e-4, "
                                                  "assurance: measured, always_split: true",
                                                  1e-4}}) {
        ASSERT_EQ(run(fmt::format("a: {}, b: {}, c: deep/c.h5, alpha: -1.5, {}", left, right, more)), "");
        const Hdf5Array c = Hdf5Reader(folder_.file("out/deep/c.h5")).read("C", 2);
        EXPECT_EQ(c.dims, (std::vector<std::int64_t>{17, 23}));
        EXPECT_LT(largest_error(a, b, -1.5, c), 1.5 * error) << more;
        const nlohmann::json& report = results_["matrix_product"];
        EXPECT_EQ(report["k"], 40);
        EXPECT_GT(report["gflops"], 0);
        if (std::string(more).find("measured") != std::string::npos) {
          EXPECT_EQ(report["form"], "split");
          EXPECT_LE(report["measured"], error);
        }
        if (std::string(more).find("0.5") != std::string::npos) {
          EXPECT_EQ(report["form"], "split");
          EXPECT_NEAR(report["large_a"], 0.5, 0.15);
        }
      }
    }
  }
}

TEST_F(MatrixProduct, WhatDoesNotFitIsSaidWithItsPlace) {
  write_hdf5(folder_.file("a.h5"), "A", random_matrix(3, 4));
  write_hdf5(folder_.file("b.h5"), "B", random_matrix(5, 6));
  EXPECT_THAT(run("a: a.h5, b: b.h5, c: c.h5"), HasSubstr("op(B) must have 4 rows, as op(A) has columns, has 5"));
  EXPECT_THAT(run("a: a.h5, b: {file: b.h5, dataset: X}, c: c.h5"),
              HasSubstr("b.h5: record X: there is no such dataset"));
  EXPECT_THAT(run("a: a.h5, c: c.h5"), HasSubstr("'b' is missing"));
  EXPECT_THAT(run("a: a.h5, b: b.h5, c: c.h5, delta: much"),
              HasSubstr("'delta': must be auto or a number >= 0, got much"));
  Hdf5Array bad = random_matrix(4, 2);
  bad.data[5] = std::nan("");
  write_hdf5(folder_.file("bad.h5"), "B", bad);
  EXPECT_THAT(run("a: a.h5, b: bad.h5, c: c.h5"), HasSubstr("element [2, 1] is nan"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out/c.h5")));
}

}  // namespace
}  // namespace quadrille
