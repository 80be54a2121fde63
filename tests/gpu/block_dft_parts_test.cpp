// Block-sparse products in parts, from the device's memory and from pinned memory of the host: the bits of products in
// one part, and what is said where one row is too much.
#include "core/backend/cuda/runtime.h"
#include "core/system/memory.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "tests/gpu/block_matrices.h"
#include "tests/gpu/poison.h"
#include "tests/testing/backend_under_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using quadrille::testing::poison_free_memory;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

struct Problem {
  Transpose op_a = Transpose::no, op_b = Transpose::no;
  Matrix a, b, c;
  double alpha = 1, beta = 0;
  MultiplyOptions options{};
};

/// A, B and C of random sizes, up to `largest`; with a symmetry C is a polynomial of A = B.
Problem random_problem(std::int32_t largest, Transpose op_a, Transpose op_b, double decay) {
  const BlockSizes m = any_sizes(26, largest), k = any_sizes(17, largest), n = any_sizes(19, largest);
  const bool turn_a = op_a == Transpose::yes, turn_b = op_b == Transpose::yes;
  return {op_a, op_b, random_matrix(turn_a ? k : m, turn_a ? m : k, 0.4, decay),
          random_matrix(turn_b ? n : k, turn_b ? k : n, 0.4, decay), random_matrix(m, n, 0.2)};
}

Problem square_problem(std::int32_t largest, double decay) {
  const BlockSizes sizes = any_sizes(29, largest);
  Problem out;
  out.a = out.b = random_matrix(sizes, sizes, 0.4, decay, Symmetry::symmetric);
  out.c = random_matrix(sizes, sizes, 0.1, 0, Symmetry::symmetric);
  return out;
}

struct Found {
  Matrix c;
  MultiplyReport report;
};

/// By blocks, with so many bytes.
Found on_device(const Problem& p, double bytes) {
  MultiplyOptions options = p.options;
  options.driver = Driver::own;
  options.panel_bytes = bytes;
  const DeviceMatrix a(p.a), b(p.b);
  DeviceMatrix c(p.c);
  poison_free_memory();
  const MultiplyReport report = multiply(p.alpha, p.op_a, a, p.op_b, b, p.beta, c, options);
  return {c.fetch(), report};
}

void expect_same(const Found& found, const Found& whole) {
  EXPECT_TRUE(same_places(found.c, whole.c));
  EXPECT_TRUE(same_bits(found.c, whole.c));
  EXPECT_EQ(found.report.products, whole.report.products);
  EXPECT_EQ(found.report.skipped, whole.report.skipped);
  EXPECT_EQ(found.report.single_products, whole.report.single_products);
  EXPECT_EQ(found.report.filtered_blocks, whole.report.filtered_blocks);
  EXPECT_DOUBLE_EQ(found.report.flops, whole.report.flops);
  EXPECT_NEAR(found.report.bound, whole.report.bound, 1e-12 * whole.report.bound);
}

/// With a third of the memory again and again, until it is too little.
void expect_same_in_parts(const Problem& p) {
  const Found whole = on_device(p, 0);
  EXPECT_EQ(whole.report.parts, 1);
  std::int64_t most_parts = 0;
  for (double bytes = 1 << 26; bytes > 1; bytes /= 3) {
    try {
      const Found found = on_device(p, bytes);
      expect_same(found, whole);
      EXPECT_GE(found.report.parts, most_parts / 2);
      most_parts = std::max(most_parts, found.report.parts);
    } catch (const NotEnoughMemory& error) {
      EXPECT_THAT(error.what(), HasSubstr("a part of a block-sparse product needs at least"));
      EXPECT_THAT(error.what(), HasSubstr("bytes of the GPU's memory, of which it may have"));
      EXPECT_GT(most_parts, 3);
      return;
    }
  }
  ADD_FAILURE() << "a byte was enough";
}

/// From pinned memory; twice, so that C has its memory.
void expect_same_from_the_host(const Problem& p) {
  const Found whole = on_device(p, 0);
  const PinnedMatrix a(p.a), b(p.b);
  PinnedMatrix c;
  for (int time = 0; time < 2; ++time) {
    if (time == 0 || p.beta != 0) c = PinnedMatrix(p.c);
    poison_free_memory();
    const MultiplyReport report = multiply(p.alpha, p.op_a, a, p.op_b, b, p.beta, c, p.options);
    expect_same({c.copy(), report}, whole);
    EXPECT_GE(report.bytes_sent, double(p.a.stored() + p.b.stored()) * sizeof(double));
    EXPECT_GT(report.bytes_received, double(c.stored()) * sizeof(double));
  }
}

const std::vector<std::pair<Transpose, Transpose>> all_transposes{{Transpose::no, Transpose::no},
                                                                  {Transpose::yes, Transpose::no},
                                                                  {Transpose::no, Transpose::yes},
                                                                  {Transpose::yes, Transpose::yes}};

/// body(problem) for plain, filtered, mixed and retained products, with and without an old C.
template <class Body>
void for_each_kind(Problem p, Body body) {
  for (const MultiplyOptions& options :
       {MultiplyOptions{}, {.eps = 1e-3}, {.eps = 1e-3, .mixed = true}, {.retain_sparsity = true}}) {
    for (const double beta : {0.0, -0.7}) {
      SCOPED_TRACE(::testing::Message() << "eps " << options.eps << ", mixed " << options.mixed << ", retains "
                                        << options.retain_sparsity << ", beta " << beta);
      p.options = options;
      p.beta = beta;
      body(p);
    }
  }
}

TEST(CudaBlockParts, SameBitsInAnyMemory) {
  for (const std::int32_t largest : {9, 30, 100}) {
    SCOPED_TRACE(largest);
    for (const auto& [op_a, op_b] : all_transposes) {
      Problem p = random_problem(largest, op_a, op_b, 0.5);
      p.alpha = 1.5;
      if (largest == 30) {
        for_each_kind(p, expect_same_in_parts);
      } else {
        p.options.eps = 1e-3;
        expect_same_in_parts(p);
      }
    }
    for_each_kind(square_problem(largest, 0.5), expect_same_in_parts);
  }
}

/// Large blocks all alike, whose pieces begin at any place of a panel.
TEST(CudaBlockParts, LargeBlocks) {
  for (const std::int32_t size : {33, 64, 81}) {
    const BlockSizes sizes(std::vector<std::int32_t>(20, size));
    Problem p;
    p.a = random_matrix(sizes, sizes, 0.2);
    p.b = random_matrix(sizes, sizes, 0.2);
    p.c = Matrix(sizes, sizes);
    expect_same_in_parts(p);
  }
}

TEST(CudaBlockParts, NormOfProduct) {
  Problem p = random_problem(25, Transpose::yes, Transpose::no, 0.5);
  p.beta = -0.5;
  for (const double eps : {0.0, 1e-2}) {
    p.options.eps = eps;
    const double expected = frobenius_norm(on_device(p, 0).c);
    for (const double bytes : {0.0, 3e5}) {
      p.options.panel_bytes = bytes;
      EXPECT_NEAR(norm_of_product(p.alpha, p.op_a, DeviceMatrix(p.a), p.op_b, DeviceMatrix(p.b), p.beta,
                                  DeviceMatrix(p.c), p.options),
                  expected, 1e-13 * expected);
    }
  }
}

TEST(CudaPinnedMatrix, ComesBackAsItWas) {
  const Matrix a = random_matrix(any_sizes(20, 40), any_sizes(17, 40), 0.3);
  EXPECT_TRUE(same_places(PinnedMatrix(a).copy(), a));
  EXPECT_TRUE(same_bits(PinnedMatrix(a).copy(), a));
  Matrix put(BlockSizes({2, 1}), BlockSizes({2}));  // whose blocks lie in the order in which they came
  put.put(1, 0, std::vector<double>{5, 6});
  put.put(0, 0, std::vector<double>{1, 2, 3, 4});
  EXPECT_EQ(PinnedMatrix(put).copy().to_dense(), put.to_dense());
  EXPECT_EQ(PinnedMatrix(a.rows(), a.columns()).copy().block_count(), 0);
}

TEST(CudaPinnedMatrix, SameBitsFromTheHost) {
  for (const auto& [op_a, op_b] : all_transposes) {
    for_each_kind(random_problem(30, op_a, op_b, 0.5), expect_same_from_the_host);
  }
  for_each_kind(square_problem(30, 0.5), expect_same_from_the_host);
  Problem none = random_problem(9, Transpose::no, Transpose::no, 0);
  none.b = Matrix(none.b.rows(), none.b.columns());
  none.beta = 2;
  expect_same_from_the_host(none);
}

/// Many panels of A, of B where its lines are long or it is transposed, and of C, whose memory grows.
TEST(CudaPinnedMatrix, ManyPanels) {
  const BlockSizes sizes = random_sizes(400, {13, 23, 26}, next_seed()), inner = random_sizes(100, {60}, next_seed());
  for (const Transpose op_b : {Transpose::no, Transpose::yes}) {
    const bool turned = op_b == Transpose::yes;
    Problem p;
    p.op_b = op_b;
    p.a = random_matrix(sizes, inner, 0.9);
    p.b = random_matrix(turned ? sizes : inner, turned ? inner : sizes, 0.9);
    p.c = Matrix(sizes, sizes);
    expect_same_from_the_host(p);
  }
}

TEST(CudaPinnedMatrix, ResultMayBeAFactor) {
  const BlockSizes sizes = any_sizes(25, 30);
  Problem p;
  p.a = p.b = p.c = random_matrix(sizes, sizes, 0.4);
  for (const double beta : {0.0, 1.0}) {
    p.beta = beta;
    PinnedMatrix a(p.a);
    multiply(1, Transpose::no, a, Transpose::no, a, beta, a);
    EXPECT_TRUE(same_bits(a.copy(), on_device(p, 0).c));
  }
}

}  // namespace
}  // namespace quadrille::block_dft
