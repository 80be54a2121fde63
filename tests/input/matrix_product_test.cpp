// The task matrix_product as the program runs it.
#include "input/commands/program.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "tests/testing/hdf5_testing.h"
#include "tests/testing/random_seed.h"
#include "tests/testing/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <random>
#include <sstream>
#include <tuple>

namespace quadrille {
namespace {

using ::testing::ContainsRegex;
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

/// The largest |C - alpha A B - beta C_in|, element by element.
double largest_error(const Hdf5Array& a, const Hdf5Array& b, double alpha, const Hdf5Array& c, double beta = 0,
                     const Hdf5Array& c_in = {}) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.dims[0]; ++i) {
    for (std::int64_t j = 0; j < b.dims[1]; ++j) {
      long double sum = 0;
      for (std::int64_t k = 0; k < a.dims[1]; ++k) {
        sum += (long double)(a.data[std::size_t(i * a.dims[1] + k)]) * b.data[std::size_t(k * b.dims[1] + j)];
      }
      const auto place = std::size_t(i * b.dims[1] + j);
      long double expected = alpha * sum;
      if (beta != 0) expected += (long double)(beta)*c_in.data[place];
      largest = std::max(largest, std::abs(double(expected - c.data[place])));
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

TEST_F(MatrixProduct, BetaAddsAMatrixThatIsRead) {
  const Hdf5Array a = random_matrix(21, 30), b = random_matrix(30, 18), added = random_matrix(21, 18);
  write_hdf5(folder_.file("a.h5"), "A", a);
  write_hdf5(folder_.file("b.h5"), "B", b);
  write_hdf5(folder_.file("added.h5"), "C", added);
  write_hdf5(folder_.file("other.h5"), "sum", added);
  for (const char* c_in : {"added.h5", "{file: other.h5, dataset: sum}"}) {
    for (const double beta : {1.0, -0.75}) {
      for (const auto& [more, error] : {std::pair{"precision: double", 1e-13}, std::pair{"precision: single", 3e-5},
                                        std::pair{"precision: mgemm, delta: 0.5, always_split: true", 3e-5},
                                        std::pair{"precision: mgemm, target_error: 1.0e-9", 2e-9}}) {
        ASSERT_EQ(run(fmt::format("a: a.h5, b: b.h5, c: c.h5, alpha: 2, beta: {}, c_in: {}, {}", beta, c_in, more)),
                  "");
        const Hdf5Array c = Hdf5Reader(folder_.file("out/c.h5")).read("C", 2);
        EXPECT_LT(largest_error(a, b, 2, c, beta, added), error) << more << ", beta " << beta;
      }
    }
  }
  EXPECT_EQ(Hdf5Reader(folder_.file("added.h5")).read("C", 2).data, added.data) << "what is read stays";
}

/// Each matrix takes about a megabyte, the cap is one.
TEST_F(MatrixProduct, PanelsOfLittleMemoryGiveTheSame) {
  const Hdf5Array a = random_matrix(330, 400), b = random_matrix(400, 350), added = random_matrix(330, 350);
  write_hdf5(folder_.file("a.h5"), "A", a);
  write_hdf5(folder_.file("b.h5"), "B", b);
  write_hdf5(folder_.file("added.h5"), "C", added);
  for (const auto& [form, more, error] :
       {std::tuple{"double", "precision: double", 1e-12}, std::tuple{"single", "precision: single", 1e-3},
        std::tuple{"split", "precision: mgemm, delta: 0.995, form: single, always_split: true", 1e-3}}) {
    for (const char* memory : {"0", "1"}) {
      ASSERT_EQ(run(fmt::format("a: a.h5, b: b.h5, c: c.h5, beta: 3, c_in: added.h5, memory: {}, {}", memory, more)),
                "");
      const Hdf5Array c = Hdf5Reader(folder_.file("out/c.h5")).read("C", 2);
      EXPECT_LT(largest_error(a, b, 1, c, 3, added), error) << more;
      const auto bytes = results_["matrix_product"]["panel_bytes"].get<std::int64_t>();
      EXPECT_EQ(results_["matrix_product"]["form"], form);
      if (*memory == '1') {
        EXPECT_GT(bytes, 0) << more;
        EXPECT_LE(bytes, 1 << 20) << more;
      }
    }
  }
}

TEST_F(MatrixProduct, FormAndDeltaAreThoseOfTheJob) {
  const Hdf5Array a = random_matrix(40, 60), b = random_matrix(60, 50);
  write_hdf5(folder_.file("a.h5"), "A", a);
  write_hdf5(folder_.file("b.h5"), "B", b);
  double before = 2;
  for (const double delta : {0.0, 0.25, 0.75, 1.0}) {  // nothing is small, everything is
    ASSERT_EQ(run(fmt::format("a: a.h5, b: b.h5, c: c.h5, precision: mgemm, form: single, always_split: true, "
                              "delta: {}",
                              delta)),
              "");
    const nlohmann::json& report = results_["matrix_product"];
    EXPECT_EQ(report["form"], "split");
    EXPECT_EQ(report["small_form"], "single");
    EXPECT_EQ(report["delta"], delta);
    EXPECT_NEAR(report["large_a"].get<double>(), 1 - delta, 0.06) << "of 2,400 numbers that are uniform in [-1, 1]";
    const double error = largest_error(a, b, 1, Hdf5Reader(folder_.file("out/c.h5")).read("C", 2));
    EXPECT_LE(error, report["bound"].get<double>() + 1e-13);
    EXPECT_LT(error, delta == 0 ? 1e-13 : 3e-5);
    if (delta > 0) {
      EXPECT_GT(error, 1e-9) << "small elements are multiplied in single";
    }
    EXPECT_LT(report["large_a"], before);
    before = report["large_a"];
  }
}

TEST_F(MatrixProduct, BetaAndItsMatrixBelongTogether) {
  write_hdf5(folder_.file("a.h5"), "A", random_matrix(3, 4));
  write_hdf5(folder_.file("b.h5"), "B", random_matrix(4, 6));
  write_hdf5(folder_.file("c_in.h5"), "C", random_matrix(6, 3));
  const std::string both = "a: a.h5, b: b.h5, c: c.h5";
  EXPECT_THAT(run(both + ", beta: 2.5"),
              ContainsRegex("job.yaml:1:[0-9]+: 'beta': beta is 2.5 but there is no matrix C: give `c_in`"));
  for (const char* beta : {"", ", beta: 0"}) {
    EXPECT_THAT(run(both + ", c_in: c_in.h5" + beta),
                ContainsRegex("job.yaml:1:[0-9]+: 'c_in': with beta 0, the default, C is not read"));
  }
  EXPECT_THAT(run(both + ", beta: 1, c_in: c_in.h5"),
              ContainsRegex("job.yaml:1:[0-9]+: 'c_in.file': op\\(A\\) op\\(B\\) is 3 x 6 but C is 6 x 3"));
  EXPECT_THAT(run(both + ", beta: 1, c_in: {file: c_in.h5, dataset: X}"),
              HasSubstr("c_in.h5: has no dataset 'X'; it has"));
  EXPECT_THAT(run(both + ", beta: 1, c_in: none.h5"),
              ContainsRegex("job.yaml:1:[0-9]+: 'c_in.file': .*none.h5: no such file"));
  EXPECT_THAT(run(both + ", beta: much"), ContainsRegex("job.yaml:1:[0-9]+: 'beta'"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out")));
}

TEST_F(MatrixProduct, AFormThatACpuDoesNotHaveIsToBlameBeforeAnythingIsDone) {
  write_hdf5(folder_.file("a.h5"), "A", random_matrix(4, 4));
  for (const char* form : {"half2", "digits3", "digits4"}) {
    const std::string task = fmt::format("a: a.h5, b: {{file: a.h5, dataset: A}}, c: c.h5, form: {}", form);
    const std::size_t before = std::string("run: [{task: matrix_product, ").size();
    const auto refused = ContainsRegex(fmt::format("job.yaml:1:{}: 'form': {} needs the backend cuda; the backend cpu",
                                                   before + task.find(form) + 1, form));
    EXPECT_THAT(run(task + ", precision: mgemm"), refused);
    EXPECT_FALSE(std::filesystem::exists(folder_.file("out")));
    std::ostringstream out, err;  // elsewhere it may be right
    EXPECT_EQ(run_program({"check", folder_.file("job.yaml")}, out, err), 0) << err.str();
    EXPECT_EQ(run_program({"check", folder_.file("job.yaml"), "--backend", "cpu"}, out, err), 1);
    EXPECT_THAT(err.str(), refused);
  }
  EXPECT_EQ(run("a: a.h5, b: {file: a.h5, dataset: A}, c: c.h5, form: half2"), "") << "of mgemm only";
}

TEST_F(MatrixProduct, WhatDoesNotFitIsSaidWithItsPlace) {
  write_hdf5(folder_.file("a.h5"), "A", random_matrix(3, 4));
  write_hdf5(folder_.file("b.h5"), "B", random_matrix(5, 6));
  EXPECT_THAT(run("a: a.h5, b: b.h5, c: c.h5"), HasSubstr("op(A) has 4 columns but op(B) has 5 rows"));
  EXPECT_THAT(run("a: a.h5, b: {file: b.h5, dataset: X}, c: c.h5"), HasSubstr("b.h5: has no dataset 'X'; it has"));
  EXPECT_THAT(run("a: a.h5, c: c.h5"), HasSubstr("'b' is missing"));
  EXPECT_THAT(run("a: a.h5, b: b.h5, c: c.h5, delta: much"),
              HasSubstr("'delta' must be auto or a real number such as 0, got 'much'"));
  Hdf5Array bad = random_matrix(4, 2);
  bad.data[5] = std::nan("");
  write_hdf5(folder_.file("bad.h5"), "B", bad);
  EXPECT_THAT(run("a: a.h5, b: bad.h5, c: c.h5"), HasSubstr("element [2, 1] is nan"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out/c.h5")));
}

}  // namespace
}  // namespace quadrille
