// Products through a memory cap on the GPU, from pageable and pinned memory of the host.
#include "modules/mgemm/product/cleaver.h"

#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/shared/dense/cuda/strip_pipeline.h"
#include "tests/modules/mgemm/problem.h"
#include "tests/testing/backend_under_test.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace quadrille::mgemm {
namespace {

using testing::backend;
using testing::for_all_storages;
using testing::Problem;

template <class T>
void check_cleaver(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t cap, bool pinned) {
  for_all_storages([&](Order order, Transpose trans_a, Transpose trans_b) {
    for (const auto& [alpha, beta] : {std::pair(T(1), T(0)), {T(-0.75), T(1)}, {T(2.5), T(-0.3)}, {T(0), T(0.5)}}) {
      Problem<T> problem(order, trans_a, trans_b, m, n, k);
      problem.scalars(alpha, beta);
      if (beta == T(0)) problem.poison();
      CleaverOptions options;
      options.memory_cap = cap;
      options.backend = &backend();
      std::vector<T>* const matrices[] = {&problem.a, &problem.b, &problem.c};
      for (auto* x : matrices) {
        if (!pinned) continue;
        ASSERT_EQ(cudaHostRegister(x->data(), x->size() * sizeof(T), cudaHostRegisterDefault), cudaSuccess);
      }
      const CleaverReport report = cleaver(problem.gemm, options);
      for (auto* x : matrices) {
        if (!pinned) continue;
        ASSERT_EQ(cudaHostUnregister(x->data()), cudaSuccess);
      }
      const double tolerance = (3 * double(k) + 8) * double(std::numeric_limits<T>::epsilon()) *
                               (std::abs(double(alpha)) * double(k) + std::abs(double(beta)));
      EXPECT_LE(problem.largest_error(), tolerance) << problem.name() << ", cap " << cap;
      if (cap > 0) {
        EXPECT_LE(report.panel_bytes, cap);
      }
      problem.expect_gaps_untouched();
    }
  });
}

TEST(CudaCleaver, AllAtOnce) {
  check_cleaver<double>(137, 153, 141, 0, false);
  check_cleaver<float>(153, 129, 167, 0, false);
}
TEST(CudaCleaver, ThroughPanels) {
  for (std::int64_t cap : {4000, 30000, 200000}) check_cleaver<double>(123, 131, 147, cap, false);
  check_cleaver<float>(131, 126, 119, 20000, false);
}
TEST(CudaCleaver, FromPinnedMemory) {
  check_cleaver<double>(123, 131, 147, 60000, true);
  check_cleaver<float>(131, 126, 119, 20000, true);
}

/// Panels of many megabytes, several buffers each, in every run the same bits.
TEST(CudaCleaver, LargePanelsOverlapWithoutHarm) {
  Problem<double> problem(Order::columns, Transpose::no, Transpose::yes, 3001, 2900, 2700);
  problem.scalars(1, 0.5);
  CleaverOptions options;
  options.memory_cap = std::int64_t(48) << 20;
  options.backend = &backend();
  std::vector<double> first;
  for (int run = 0; run < 3; ++run) {
    problem.c = problem.before;
    problem.gemm.c = problem.c.data();
    const CleaverReport report = cleaver(problem.gemm, options);
    EXPECT_GT(report.steps, 4);
    EXPECT_LE(report.panel_bytes, options.memory_cap);
    if (run == 0) first = problem.c;
    // By bits: what lies between the lines of C is not a number.
    EXPECT_EQ(std::memcmp(first.data(), problem.c.data(), first.size() * sizeof(double)), 0) << "run " << run;
  }
  EXPECT_LE(problem.largest_error(20000), 2700 * 2702 * 0x1p-53);
}

/// While it lives, the matrices of a problem are pinned.
class Pinned {
 public:
  explicit Pinned(Problem<double>& problem) : matrices_{&problem.a, &problem.b, &problem.c} {
    for (auto* x : matrices_) {
      EXPECT_EQ(cudaHostRegister(x->data(), x->size() * sizeof(double), cudaHostRegisterDefault), cudaSuccess);
    }
  }
  ~Pinned() {
    for (auto* x : matrices_) EXPECT_EQ(cudaHostUnregister(x->data()), cudaSuccess);
  }
  Pinned(const Pinned&) = delete;

 private:
  std::vector<double>* matrices_[3];
};

/// Blocks and strips that do not divide the matrices; partial sums that come back from the host, in fewer strips than
/// there are buffers too; and a last block whose lines are too short to travel alone.
TEST(CudaCleaver, PinnedMatricesPassInStrips) {
  const StripPlan plans[] = {
      {{2101, 90, 2203}, 1051, 1102, 32}, {{2101, 60, 2203}, 1051, 1102, 32}, {{2047, 400, 2100}, 1024, 1050, 32}};
  for (const StripPlan& plan : plans) {
    for (Transpose trans_a : {Transpose::no, Transpose::yes}) {
      for (double beta : {0.0, 1.0, -0.3}) {
        Problem<double> problem(Order::columns, trans_a, Transpose::no, plan.shape.m, plan.shape.n, plan.shape.k);
        problem.scalars(0.75, beta);
        if (beta == 0) problem.poison();
        const Operands<double> o = check_arguments(problem.gemm);
        using Pipeline = cuda::StripPipeline<double>;
        cuda::PipelineTraffic traffic;
        {
          const Pinned pinned(problem);
          EXPECT_EQ(Pipeline::suits(o.a, o.b, o.c, plan), plan.shape.m == 2101);
          traffic = Pipeline(o.a, o.b, o.beta, o.c, plan)
                        .run([&](DenseView<const double> a, DenseView<const double> b, double scale,
                                 DenseView<double> c) { dense_product_on_device(o.alpha, a, b, scale, c); });
        }
        EXPECT_EQ(double(traffic.up), 8 * plan.up(beta != 0));
        EXPECT_EQ(double(traffic.down), 8 * plan.down());
        EXPECT_LE(problem.largest_error(20000), 2203 * 2205 * 0x1p-53) << problem.name();
        problem.expect_gaps_untouched();
      }
    }
  }
}

/// Long lines of all three: they are copied where they are, in panels and, where B is by columns, in strips.
TEST(CudaCleaver, LongLinesOfPinnedMatricesTravelAlone) {
  for (Transpose trans_b : {Transpose::no, Transpose::yes}) {
    for (std::int64_t numbers : {std::int64_t(4000000), std::int64_t(2600000)}) {
      Problem<double> problem(Order::columns, Transpose::no, trans_b, 2050, 1100, 2060);
      problem.scalars(-0.5, 2);
      CleaverOptions options;
      options.memory_cap = 8 * numbers;
      options.backend = &backend();
      {
        const Pinned pinned(problem);
        EXPECT_LE(cleaver(problem.gemm, options).panel_bytes, options.memory_cap);
      }
      EXPECT_LE(problem.largest_error(20000), 2060 * 2066 * 0x1p-53) << problem.name();
      problem.expect_gaps_untouched();
    }
  }
}

}  // namespace
}  // namespace quadrille::mgemm
