// The task eigen as the program runs it, on files that are written here and on those of other programs.
#include "input/commands/program.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "tests/modules/eigen/matrices.h"
#include "tests/testing/hdf5_testing.h"
#include "tests/testing/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace quadrille {
namespace {

using namespace eigen;
using namespace eigen::testing;
using quadrille::testing::next_seed;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class EigenJob : public ::testing::Test {
 protected:
  /// Runs `quadrille COMMAND` on a job of one task; what it says on standard error where it fails.
  std::string call(const std::string& command, const std::string& task) {
    std::ofstream(folder_.file("job.yaml")) << "run: [{task: eigen, " << task << "}]\n";
    std::ostringstream out, err;
    std::vector<std::string> words{command, folder_.file("job.yaml"), "--backend", "cpu"};
    if (command == "run") words.insert(words.end(), {"--out", folder_.file("out"), "--force"});
    return run_program(words, out, err) == 0 ? "" : err.str();
  }
  nlohmann::json results(const std::string& task) {
    EXPECT_EQ(call("run", task), "");
    nlohmann::json all;
    std::ifstream(folder_.file("out/results.json")) >> all;
    return all["eigen"];
  }
  /// Refused by `check`, too, where `early`.
  void expect_refused(const std::string& task, const std::string& words, bool early = true) {
    EXPECT_THAT(call("run", task), HasSubstr(words));
    if (early) {
      EXPECT_THAT(call("check", task), HasSubstr(words));
    } else {
      EXPECT_EQ(call("check", task), "");
    }
  }
  void add(const char* name, const std::vector<double>& a) {
    const auto n = hsize_t(std::lround(std::sqrt(double(a.size()))));
    quadrille::testing::add_dataset(file_, name, {n, n}, a);
  }

  quadrille::testing::TemporaryFolder folder_;
  std::string file_ = folder_.file("pair.h5");
};

TEST_F(EigenJob, PairsAreSavedRowByRow) {
  const std::int64_t n = 20;
  const std::vector<double> a = generated_matrix<double>("random", n, next_seed());
  const std::vector<double> b = metric_with_pivot<double>(n, 1, next_seed());
  add("A", a);
  add("B", b);
  const nlohmann::json found = results("a: pair.h5, b: pair.h5, save: pairs.h5, check: true");
  const Pairs<double> expected = solved(n, a, b);
  const Hdf5Reader saved(folder_.file("out/pairs.h5"));
  EXPECT_EQ(saved.read("eigenvalues", 1).data, expected.values);
  EXPECT_EQ(saved.read("eigenvectors", 2).data, expected.vectors);
  EXPECT_EQ(found["n"], n);
  EXPECT_EQ(found["vectors"], n);
  EXPECT_EQ(found["generalized"], true);
  EXPECT_EQ(found["complex"], false);
  EXPECT_EQ(found["lowest"], expected.values.front());
  EXPECT_LE(found["residual"].get<double>(), 10 * eigen::testing::eps);
  EXPECT_LE(found["orthogonality"].get<double>(), 10 * eigen::testing::eps);
  EXPECT_EQ(found["spectrum"]["value"].size(), std::size_t(n));
  EXPECT_EQ(found["phases"][0]["phase"], "cholesky");
  EXPECT_GT(found["bytes"].get<double>(), double(n * n * 8));

  const nlohmann::json few = results("a: pair.h5, b: pair.h5, vectors: {first: 3, last: 4}, save: {file: pairs.h5}");
  EXPECT_EQ(few["first"], 3);
  EXPECT_EQ(few["vectors"], 2);
  EXPECT_EQ(Hdf5Reader(folder_.file("out/pairs.h5")).dims("eigenvectors", 2), (std::vector<std::int64_t>{2, n}));
  const nlohmann::json none = results("a: pair.h5, vectors: none, save: values.h5");
  EXPECT_EQ(none["vectors"], 0);
  EXPECT_EQ(none["generalized"], false);
  EXPECT_EQ(Hdf5Reader(folder_.file("out/values.h5")).dims("eigenvalues", 1), (std::vector<std::int64_t>{n}));
  EXPECT_THROW(Hdf5Reader(folder_.file("out/values.h5")).dims("eigenvectors", 2), Error);
}

TEST_F(EigenJob, FractionsByCountAndInterval) {
  const std::string clement = "a: {generate: clement, size: 30}";  // 29, 27, ..., -29
  EXPECT_NEAR(results(clement + ", vectors: {count: 5}")["highest"].get<double>(), -21, 1e-12);
  const nlohmann::json inside = results(clement + ", vectors: {interval: [-2, 6]}, check: true");
  EXPECT_EQ(inside["first"], 15);
  EXPECT_EQ(inside["last"], 18);
  EXPECT_LE(inside["residual"].get<double>(), 1e-15);
  EXPECT_EQ(results(clement + ", vectors: {last: 2}")["vectors"], 2);
  EXPECT_EQ(results(clement + ", vectors: all")["vectors"], 30);
}

TEST_F(EigenJob, ComplexMatricesOfAnyFormat) {
  // [[2, i], [-i, 2]] has the eigenvalues 1 and 3.
  std::ofstream(folder_.file("a.mtx"))
      << "%%MatrixMarket matrix coordinate complex hermitian\n2 2 3\n1 1 2 0\n2 1 0 -1\n2 2 2 0\n";
  quadrille::testing::add_dataset(folder_.file("pairs_in.h5"), "H", {2, 2, 2}, {2, 0, 0, 1, 0, -1, 2, 0});
  for (const std::string a : {"a.mtx", "{file: pairs_in.h5, dataset: H}"}) {
    const nlohmann::json found = results("a: " + a + ", check: true, save: out.h5");
    EXPECT_EQ(found["complex"], true);
    EXPECT_NEAR(found["lowest"].get<double>(), 1, 1e-15);
    EXPECT_NEAR(found["highest"].get<double>(), 3, 1e-15);
    const Hdf5Matrix vectors(folder_.file("out/out.h5"), "eigenvectors");
    ASSERT_TRUE(vectors.is_complex());
    std::vector<Complex> x(4);
    vectors.read(0, 2, 0, 2, x.data());
    const double root = std::sqrt(0.5);
    const std::vector<Complex> expected{root, {0, root}, root, {0, -root}};
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(std::abs(x[k] - expected[k]), 0, 1e-14) << k;
  }
  // A real B beside a complex A.
  std::ofstream(folder_.file("b.mtx")) << "%%MatrixMarket matrix array real symmetric\n2 2\n4\n0\n4\n";
  EXPECT_NEAR(results("a: a.mtx, b: b.mtx")["highest"].get<double>(), 0.75, 1e-15);
  EXPECT_EQ(results("a: {generate: toeplitz, size: 9, complex: true}, b: {generate: overlap, size: 9}")["complex"],
            true);
}

TEST_F(EigenJob, PairsAreRefined) {
  // B = N N^T and A = N D N^T for a triangular N with a small pivot have the eigenvalues D.
  const double pivot = std::ldexp(1.0, -20);  // N = [[1, 2], [0, pivot]], D = [3, 5]
  add("A", {3 + 5 * 4, 5 * 2 * pivot, 5 * 2 * pivot, 5 * pivot * pivot});
  add("B", {1 + 4, 2 * pivot, 2 * pivot, pivot * pivot});
  const nlohmann::json found = results("a: pair.h5, b: pair.h5, refine: 4, check: true");
  EXPECT_NEAR(found["lowest"].get<double>(), 3, 3e-15);
  EXPECT_NEAR(found["highest"].get<double>(), 5, 5e-15);
  EXPECT_LE(found["residual"].get<double>(), 10 * eigen::testing::eps);
  EXPECT_LE(found["refinements"].size(), 4U);
  for (const nlohmann::json& step : found["refinements"]) {
    for (const char* name : {"residual", "defect", "orthogonality"}) {
      EXPECT_GE(step[name]["before"].get<double>(), 0) << name;
      EXPECT_GE(step[name]["after"].get<double>(), 0) << name;
    }
    EXPECT_TRUE(step["kept"].is_boolean());
  }
  EXPECT_EQ(results("a: pair.h5, b: pair.h5").contains("refinements"), false);
  expect_refused("a: pair.h5, vectors: none, refine: 1", "takes eigenvectors, and `vectors` is none");
  expect_refused("a: pair.h5, refine: -1", "refine");
}

TEST_F(EigenJob, OneHalfOfAFileSuffices) {
  add("A", {1, 5, 0, 2});  // row by row: the upper triangle has 5
  EXPECT_NEAR(results("a: {file: pair.h5, triangle: lower}")["lowest"].get<double>(), 1, 1e-15);
  EXPECT_NEAR(results("a: {file: pair.h5, triangle: upper}")["lowest"].get<double>(), 1.5 - std::sqrt(25.25), 1e-14);
  expect_refused("a: pair.h5", "A must be symmetric: elements [1, 0] and [0, 1] differ by 5, the largest element is 5",
                 false);
  quadrille::testing::add_dataset(folder_.file("c.h5"), "A", {2, 2, 2}, {1, 0, 2, 1, 2, 1, 3, 0});
  expect_refused("a: c.h5", "A must be Hermitian: elements [1, 0] and [0, 1] differ from each other's conjugates by 2",
                 false);
}

TEST_F(EigenJob, BadInputIsNamed) {
  add("A", {1, 0, 0, 2});
  add("B", {1, 2, 2, 1});
  add("C", {1, 0, 0, 0, 1, 0, 0, 0, 1});
  add("N", {1, 0, 0, NAN});
  const std::string a = "a: pair.h5";
  expect_refused(a + ", b: pair.h5", "B is not positive definite: its leading 2 x 2 submatrix is not", false);
  expect_refused(a + ", b: {file: pair.h5, dataset: C}", "A has 2 rows, but B has 3");
  expect_refused("a: {file: pair.h5, dataset: N}", "element [1, 1] is nan", false);
  expect_refused("a: {file: pair.h5, dataset: X}", "has no dataset 'X'");
  expect_refused("a: none.h5", "none.h5");
  expect_refused(a + ", vectors: {interval: [3, 4]}", "no eigenvalue is in the interval [3, 4]; the nearest below is 2",
                 false);
  expect_refused(a + ", vectors: {interval: [4, 3]}", "the interval [4, 3] is empty");
  expect_refused(a + ", vectors: {count: 3}", "eigenvectors 1 to 3 of a matrix of 2 rows");
  expect_refused(a + ", vectors: {first: 2}", "needs `last`, too");
  expect_refused(a + ", vectors: {first: 2, last: 1}", "must not be before the first");
  expect_refused(a + ", vectors: {count: 1, interval: [0, 1]}", "interval");
  expect_refused("a: {generate: random}", "a generated matrix needs `size`");
  expect_refused("a: {size: 4}", "generate");
  expect_refused("a: {generate: random, size: 20000000}",
                 "not enough memory: the eigenproblem of 20000000 real rows needs", false);
}

TEST_F(EigenJob, AStudyComparesWithLapacksDrivers) {
  for (const std::string complex : {"false", "true"}) {
    std::ofstream(folder_.file("job.yaml"))
        << "run: [{task: eigen_study, sizes: [30], repeats: 1, complex: " << complex << "}]\n";
    std::ostringstream out, err;
    ASSERT_EQ(
        run_program({"run", folder_.file("job.yaml"), "--backend", "cpu", "--out", folder_.file("out"), "--force"}, out,
                    err),
        0)
        << err.str();
    nlohmann::json all;
    std::ifstream(folder_.file("out/results.json")) >> all;
    const nlohmann::json rows = all["eigen_studies"]["eigen_study"]["rows"];
    ASSERT_EQ(rows.size(), 3U);
    for (const nlohmann::json& row : rows) {
      EXPECT_LE(row["values_difference"].get<double>(), 1e-11);
      EXPECT_EQ(row["residual"].is_null(), row["vectors"] == 0);
      EXPECT_LE(row["residual"].is_null() ? 0 : row["residual"].get<double>(), 10 * eigen::testing::eps);
      EXPECT_EQ(row["back_to_general"].is_null(), row["vectors"] == 0);
      EXPECT_GT(row["cholesky"].get<double>(), 0);
    }
    EXPECT_EQ(rows[1]["vectors"], 6);
    EXPECT_EQ(rows[1]["driver"], complex == "true" ? "zhegvx" : "dsygvx");
  }
}

/// H and S of electronic structure, in ELSI CSC: 288 orbitals, S with a condition number of 1.3e4.
TEST_F(EigenJob, PairsOfElectronicStructure) {
  const char* const data = std::getenv("QUADRILLE_DATA");
  if (data == nullptr || !std::filesystem::exists(std::string(data) + "/eigen/H_real.csc")) {
    GTEST_SKIP() << "QUADRILLE_DATA names no folder with eigen/H_real.csc";
  }
  for (const std::string kind : {"real", "cmplx"}) {
    const std::string pair =
        fmt::format("a: {}/eigen/H_{}.csc, b: {}/eigen/S_{}.csc, check: true", data, kind, data, kind);
    const nlohmann::json all = results(pair), few = results(pair + ", vectors: {count: 60}");
    EXPECT_EQ(all["n"], 288);
    EXPECT_EQ(all["complex"], kind == "cmplx");
    for (const nlohmann::json* found : {&all, &few}) {
      EXPECT_LE((*found)["residual"].get<double>(), 100 * eigen::testing::eps) << kind;
      EXPECT_LE((*found)["orthogonality"].get<double>(), 100 * eigen::testing::eps) << kind;
    }
    const double scale = std::max(std::abs(all["lowest"].get<double>()), std::abs(all["highest"].get<double>()));
    EXPECT_NEAR(few["highest"].get<double>(), all["spectrum"]["value"][59].get<double>(), 1e-11 * scale);
  }
}

}  // namespace
}  // namespace quadrille
