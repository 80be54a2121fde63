// The eigenproblem on a GPU: the CPU's answers, hard spectra, fractions, the same bits in every run, bad input.
#include "modules/eigen/device.h"

#include "input/commands/program.h"
#include "modules/eigen/capi/c_api.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/tasks/generated.h"
#include "tests/modules/eigen/comparisons.h"
#include "tests/testing/temporary_folder.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

using namespace testing;
using quadrille::testing::next_seed;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <class T>
class DeviceEigenproblem : public ::testing::Test {};
TYPED_TEST_SUITE(DeviceEigenproblem, Numbers);

template <class T>
Pairs<T> solved_there(std::int64_t n, const std::vector<T>& a, const std::vector<T>& b, const Fraction& fraction = {}) {
  std::unique_ptr<DeviceFactor<T>> factor;
  if (!b.empty()) factor = std::make_unique<DeviceFactor<T>>(n, b.data(), n, Triangle::lower);
  return solve_on_device(DeviceProblem<T>{n, a.data(), n, Triangle::lower, factor.get(), fraction});
}

TYPED_TEST(DeviceEigenproblem, AgreesWithTheCpuForHardSpectra) {
  using T = TypeParam;
  for (const std::int64_t n : {1, 2, 3, 64, 65, 66, 130, 333}) {
    for (const std::string kind : hard_kinds) {
      if (n > 200 && kind != "random" && kind != "wilkinson" && kind != "clustered") continue;
      const std::vector<T> a = hard_matrix<T>(kind, n, next_seed());
      for (const double pivot : {0.0, 1.0, 1e-6}) {  // 0: the standard problem
        const std::vector<T> b = pivot == 0 ? std::vector<T>() : metric_with_pivot<T>(n, pivot, next_seed());
        const std::string what = fmt::format("{}, n = {}, pivot {}", kind, n, pivot);
        const Pairs<T> pairs = solved_there(n, a, b), expected = solved(n, a, b);
        const Accuracy accuracy = check_pairs(n, a.data(), b.empty() ? nullptr : b.data(), pairs);
        const double singular = pivot > 0 && pivot < 1 ? 1 / (pivot * pivot) : 1;  // what rounding of B is worth
        EXPECT_LE(accuracy.residual, 10 * eps * singular) << what;
        EXPECT_LE(accuracy.orthogonality, 10 * eps * singular) << what;
        const double inverse = pivot == 0 ? 1 : 16 * singular * singular, size = norm_of(n, a) + 1e-300;
        expect_close(pairs.values, expected.values, 4 * double(n) * eps * inverse * size, what);
        const Pairs<T> alone = solved_there(n, a, b, Fraction::none());
        EXPECT_TRUE(alone.vectors.empty());
        expect_close(alone.values, expected.values, 4 * double(n) * eps * inverse * size, what + ", values only");
      }
    }
  }
}

TYPED_TEST(DeviceEigenproblem, FractionsHaveTheBitsOfTheWholeAndSignsAsStated) {
  using T = TypeParam;
  for (const std::string kind : {"random", "clement", "wilkinson"}) {
    const std::int64_t n = 411;
    const std::vector<T> a = hard_matrix<T>(kind, n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
    const Pairs<T> whole = solved_there(n, a, b), again = solved_there(n, a, b);
    EXPECT_EQ(whole.values, again.values) << kind;
    EXPECT_EQ(whole.vectors, again.vectors) << kind;
    expect_signs(whole, kind);
    for (const Fraction& fraction : {Fraction::range(31, 120), Fraction::lowest(1), Fraction::range(n, n),
                                     Fraction::interval((whole.values[19] + whole.values[20]) / 2, 1e9)}) {
      const Pairs<T> part = solved_there(n, a, b, fraction);
      EXPECT_EQ(part.spectrum, whole.values) << kind;
      const Accuracy accuracy = check_pairs(n, a.data(), b.data(), part);
      EXPECT_LE(accuracy.residual, 10 * eps) << kind;
      EXPECT_LE(accuracy.orthogonality, 10 * eps) << kind;
      const std::size_t first = std::size_t(part.range.first);
      for (std::size_t k = 0; k < part.values.size(); ++k) EXPECT_EQ(part.values[k], whole.values[first + k]) << kind;
    }
  }
}

/// Many vectors pass through Q2 by 16 columns a warp, others by 8.
TEST(DeviceEigenproblemOfManyRows, AllVectorsAndAPart) {
  int processors = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  const std::int64_t n = 2 * 16 * processors + 77;
  const auto a = generated_matrix<double>("random", n, next_seed()), b = generated_matrix<double>("overlap", n, 1);
  Pairs<double> whole = solved_there(n, a, b), part = solved_there(n, a, b, Fraction::range(n / 2, n));
  const std::vector<double> upper(whole.values.begin() + (n / 2 - 1), whole.values.end());
  EXPECT_EQ(part.values, upper);
  for (Pairs<double>* const pairs : {&whole, &part}) {
    const Accuracy accuracy = check_on_gpu(a, &b, *pairs);
    EXPECT_LE(accuracy.residual, 10 * eps);
    EXPECT_LE(accuracy.orthogonality, 10 * eps);
    expect_signs(*pairs, "random");
  }
}

TYPED_TEST(DeviceEigenproblem, ExtremeScalesAndEitherTriangle) {
  using T = TypeParam;
  const std::int64_t n = 150;
  const std::vector<T> a = hard_matrix<T>("random", n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
  const Pairs<T> plain = solved_there(n, a, b);
  for (const double scale : {std::ldexp(1.0, 900), std::ldexp(1.0, -900)}) {
    std::vector<T> large = a, large_b = b;
    for (T& x : large) x *= scale;
    for (T& x : large_b) x *= scale;
    expect_close(solved_there(n, large, large_b).values, plain.values, 1e-11, "both scaled");
  }
  std::vector<T> upper = a;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j + 1; i < n; ++i) upper[std::size_t(i + j * n)] = std::numeric_limits<double>::quiet_NaN();
  }
  const Pairs<T> of_upper = solve_on_device(DeviceProblem<T>{n, upper.data(), n, Triangle::upper, nullptr, {}});
  expect_close(of_upper.values, solved_there<T>(n, a, {}).values, 0, "the upper triangle");
}

/// Of the host or the device.
template <class T>
class SomeMemory {
 public:
  SomeMemory(bool on_device, std::vector<T> numbers) : numbers_(std::move(numbers)), on_device_(on_device) {
    if (!on_device) return;
    EXPECT_EQ(cudaMalloc(&there_, bytes()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(there_, numbers_.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~SomeMemory() { cudaFree(there_); }
  SomeMemory(const SomeMemory&) = delete;
  SomeMemory& operator=(const SomeMemory&) = delete;

  double* at() { return on_device_ ? static_cast<double*>(there_) : reinterpret_cast<double*>(numbers_.data()); }
  const std::vector<T>& numbers() {
    if (on_device_) {
      EXPECT_EQ(cudaMemcpy(numbers_.data(), there_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    }
    return numbers_;
  }

 private:
  std::size_t bytes() const { return numbers_.size() * sizeof(T); }
  std::vector<T> numbers_;
  bool on_device_;
  void* there_ = nullptr;
};

TYPED_TEST(DeviceEigenproblem, CCallsTakeTheMemoryOfHostAndDevice) {
  using T = TypeParam;
  const std::int64_t n = 150, ld = n + 3;
  const std::vector<T> a = generated_matrix<T>("random", n, next_seed()), b = metric_with_pivot<T>(n, 1, next_seed());
  std::vector<T> wide_a(std::size_t(ld * n), T(7)), wide_b = wide_a;
  for (std::int64_t k = 0; k < n; ++k) {
    std::copy_n(a.data() + k * n, n, wide_a.data() + k * ld);
    std::copy_n(b.data() + k * n, n, wide_b.data() + k * ld);
  }
  const Pairs<T> expected = solved_there(n, a, b, Fraction::range(3, 40));
  for (const bool on_device : {false, true}) {
    SomeMemory<T> a_there(on_device, wide_a), b_there(on_device, wide_b), x(on_device, std::vector<T>(ld * 38, T(-5)));
    SomeMemory<double> values(on_device, std::vector<double>(38, -1.0));
    quadrille_eigen_factor* factor = nullptr;
    ASSERT_EQ((is_complex<T> ? quadrille_eigen_factor_create_complex_at : quadrille_eigen_factor_create_double_at)(
                  "cuda", 'L', n, b_there.at(), ld, &factor),
              QUADRILLE_DONE)
        << quadrille_eigen_message();
    quadrille_eigen_options options{};
    options.struct_size = sizeof options;
    options.vectors = 'I';
    options.first = 3;
    options.last = 40;
    quadrille_eigen_report report{};
    report.struct_size = sizeof report;
    const auto solve_c = is_complex<T> ? quadrille_eigen_complex : quadrille_eigen_double;
    ASSERT_EQ(solve_c(&options, n, a_there.at(), ld, factor, values.at(), x.at(), ld, &report), QUADRILLE_DONE)
        << quadrille_eigen_message();
    EXPECT_EQ(values.numbers(), expected.values);
    for (std::int64_t k = 0; k < 38; ++k) {
      for (std::int64_t i = 0; i < ld; ++i) {
        ASSERT_EQ(x.numbers()[std::size_t(i + k * ld)], i < n ? expected.vectors[std::size_t(i + k * n)] : T(-5));
      }
    }
    EXPECT_EQ(report.count, 38);
    EXPECT_GT(report.tridiagonalization_seconds, 0.0);
    options.backend = "cpu";
    EXPECT_EQ(solve_c(&options, n, a_there.at(), ld, factor, values.at(), x.at(), ld, nullptr),
              QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_eigen_message(), HasSubstr("factor is in the memory of a GPU"));
    quadrille_eigen_factor_destroy(factor);
  }
}

TYPED_TEST(DeviceEigenproblem, ColumnsMayStandApart) {
  using T = TypeParam;
  const std::int64_t n = 1500, lda = 1533;  // several pinned buffers
  const std::vector<T> a = generated_matrix<T>("random", n, next_seed());
  std::vector<T> apart(std::size_t(lda * n), T(NAN));
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(a.data() + j * n, n, apart.data() + j * lda);
  const Pairs<T> pairs = solve_on_device(DeviceProblem<T>{n, apart.data(), lda, Triangle::lower, nullptr, {}});
  EXPECT_EQ(pairs.vectors, solved_there<T>(n, a, {}).vectors);
}

TYPED_TEST(DeviceEigenproblem, RefusesBadInput) {
  using T = TypeParam;
  const std::int64_t n = 100;
  const std::vector<T> a = hard_matrix<T>("random", n, next_seed());
  std::vector<T> b = metric_with_pivot<T>(n, 1, next_seed());
  b[std::size_t(70 + 70 * n)] = -1;
  EXPECT_THAT(message_of([&] { (void)solved_there(n, a, b); }),
              HasSubstr("B is not positive definite: its leading 71 x 71 submatrix is not"));
  std::vector<T> broken = a;
  broken[std::size_t(20 + 10 * n)] = std::numeric_limits<double>::infinity();
  EXPECT_THAT(message_of([&] { (void)solved_there<T>(n, broken, {}); }),
              HasSubstr("A: the element in row 21, column 11 is not finite"));
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{n, broken.data(), n, Triangle::upper, nullptr, {}});
              }),
              "");  // the other half is not read
  std::swap(broken[std::size_t(20 + 10 * n)], broken[std::size_t(10 + 20 * n)]);
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{n, broken.data(), n, Triangle::upper, nullptr, {}});
              }),
              HasSubstr("A: the element in row 11, column 21 is not finite"));
  EXPECT_THAT(message_of([&] { (void)solved_there<T>(n, a, {}, Fraction::interval(1e6, 1e7)); }),
              HasSubstr("interval"));
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{n, a.data(), n - 1});
              }),
              HasSubstr("the leading dimension of A is 99: it must be at least the number of rows, 100"));
  const T small[] = {1};
  const DeviceFactor<T> factor(1, small, 1, Triangle::lower);
  EXPECT_THAT(message_of([&] {
                (void)solve_on_device(DeviceProblem<T>{n, a.data(), n, Triangle::lower, &factor});
              }),
              HasSubstr("A has 100 rows, but B has 1"));
  const auto message_for = [&](std::int64_t rows) {
    return message_of([&] { (void)solve_on_device(DeviceProblem<T>{rows, a.data(), rows}); });
  };
  std::size_t free_bytes = 0, all_bytes = 0;
  int processors = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &all_bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  const std::int64_t most_rows = panel_rows_of_processor * processors;
  if (device_bytes<T>(most_rows, Fraction::all(), false) > double(all_bytes)) {
    EXPECT_THAT(message_for(most_rows), AllOf(HasSubstr("not enough memory"), HasSubstr("eigenvalues only")));
  }
  EXPECT_THAT(message_for(1000000), AllOf(HasSubstr("an eigenproblem of 1000000 rows: this GPU takes at most "),
                                          HasSubstr("multiprocessors"), HasSubstr("use --backend cpu")));
}

TEST(DeviceEigenTask, CountsMemoryOfTheHostAndOfTheGpu) {
  const quadrille::testing::TemporaryFolder folder;
  std::ofstream(folder.file("job.yaml")) << "run: [{task: eigen, a: {generate: random, size: 200}, "
                                            "b: {generate: overlap, size: 200}, vectors: {count: 20}, check: true}]\n";
  std::ostringstream out, err;
  ASSERT_EQ(run_program({"run", folder.file("job.yaml"), "--backend", "cuda", "--out", folder.file("out")}, out, err),
            0)
      << err.str();
  nlohmann::json all;
  std::ifstream(folder.file("out/results.json")) >> all;
  const nlohmann::json found = all["eigen"];
  EXPECT_EQ(found["bytes"], host_bytes<double>(200, Fraction::lowest(20), true, true));
  EXPECT_EQ(found["device_bytes"], device_bytes<double>(200, Fraction::lowest(20), true));
  EXPECT_LE(found["residual"].get<double>(), 10 * eps);
  EXPECT_LE(found["orthogonality"].get<double>(), 10 * eps);
}

TEST(DeviceEigenTask, AStudyHasThePhasesOfTheGpu) {
  const quadrille::testing::TemporaryFolder folder;
  std::ofstream(folder.file("job.yaml")) << "run: [{task: eigen_study, sizes: [150], repeats: 1}]\n";
  std::ostringstream out, err;
  ASSERT_EQ(run_program({"run", folder.file("job.yaml"), "--backend", "cuda", "--out", folder.file("out")}, out, err),
            0)
      << err.str();
  nlohmann::json all;
  std::ifstream(folder.file("out/results.json")) >> all;
  const nlohmann::json rows = all["eigen_studies"]["eigen_study"]["rows"];
  ASSERT_EQ(rows.size(), 3U);
  for (const nlohmann::json& row : rows) {
    EXPECT_LE(row["values_difference"].get<double>(), 1e-10);
    EXPECT_GT(row["bulge_chasing"].get<double>(), 0);
    EXPECT_TRUE(row["tridiagonalization"].is_null());
    EXPECT_EQ(row["back_to_band"].is_null(), row["vectors"] == 0);
    EXPECT_LE(row["residual"].is_null() ? 0 : row["residual"].get<double>(), 10 * eps);
  }
}

}  // namespace
}  // namespace quadrille::eigen
