// The C calls: results, status codes and messages.
#include "modules/block_dft/capi/c_api.h"

#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/product/multiply.h"
#include "modules/block_dft/scf/model_system.h"
#include "tests/modules/block_dft/c_handles.h"
#include "tests/modules/block_dft/dense.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(BlockCApi, ProductsAreThoseOfTheLibrary) {
  const BlockSizes m = some_sizes(5), k = some_sizes(6), n = some_sizes(4);
  const BlockMatrix<double> a = random_blocks<double>(k, m, Symmetry::none, 0.6, next_seed(), 0.5);
  const BlockMatrix<double> b = random_blocks<double>(k, n, Symmetry::none, 0.6, next_seed(), 0.5);
  BlockMatrix<double> c = random_blocks<double>(m, n, Symmetry::none, 0.6, next_seed());
  const Handle left = handle_of(a), right = handle_of(b), out = handle_of(c);
  quadrille_block_report report{};
  report.struct_size = sizeof report;
  ASSERT_EQ(quadrille_block_multiply('T', 'n', 2, left.get(), right.get(), 0.5, out.get(), 0.1, 0, &report),
            QUADRILLE_DONE)
      << quadrille_block_message();
  const MultiplyReport expected = multiply(2.0, Transpose::yes, a, Transpose::no, b, 0.5, c, {.eps = 0.1});
  EXPECT_EQ(report.flops, expected.flops);
  EXPECT_EQ(report.bound, expected.bound);
  std::int64_t blocks = 0, numbers = 0;
  ASSERT_EQ(quadrille_block_matrix_export(out.get(), &blocks, &numbers, nullptr, nullptr), QUADRILLE_DONE);
  ASSERT_EQ(blocks, c.block_count());
  std::vector<std::int32_t> places(std::size_t(2 * blocks));
  std::vector<double> data(static_cast<std::size_t>(numbers));
  ASSERT_EQ(quadrille_block_matrix_export(out.get(), nullptr, nullptr, places.data(), data.data()), QUADRILLE_DONE);
  EXPECT_EQ(data, std::vector<double>(c.data().begin(), c.data().end()));
  c.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    EXPECT_EQ(places[std::size_t(2 * slot)], i);
    EXPECT_EQ(places[std::size_t(2 * slot + 1)], j);
  });
}

TEST(BlockCApi, DensityMatricesAreThoseOfTheLibrary) {
  const ModelSystem system = model_system({.sizes = random_sizes(12, {2, 3}, next_seed()), .seed = next_seed()});
  const Handle h = handle_of(system.h), s = handle_of(system.s);
  for (const char* method : {"sign", "trs4", "canonical", "dense"}) {
    quadrille_block_matrix* p = nullptr;
    double energy = 0, mu = 0;
    std::int32_t converged = 0;
    ASSERT_EQ(quadrille_block_density(h.get(), s.get(), method, system.electrons, &mu, 1e-8, &p, &energy, &converged),
              QUADRILLE_DONE)
        << quadrille_block_message();
    const Handle owned(p, quadrille_block_matrix_destroy);
    DensityOptions options{.method = density_method_named(method), .electrons = system.electrons};
    options.function.eps = 1e-8;
    const Density expected = density_matrix(system.h, system.s, options);
    EXPECT_EQ(energy, expected.energy);
    EXPECT_EQ(converged, 1);
    std::vector<double> block(std::size_t(system.s.rows().size(0)) * std::size_t(system.s.rows().size(1)));
    std::int32_t found = 0;
    ASSERT_EQ(quadrille_block_matrix_get(p, 1, 0, block.data(), &found), QUADRILLE_DONE);
    EXPECT_EQ(found, 1);
    EXPECT_EQ(block, expected.p.get(1, 0));
  }
}

TEST(BlockCApi, WithoutAnOverlapItIsTheIdentity) {
  const ModelSystem system = model_system({.sizes = random_sizes(12, {2, 3}, next_seed()), .seed = next_seed()});
  const Handle h = handle_of(system.h), s = handle_of(identity<double>(system.h.rows()));
  double with = 0, without = 1, electrons = 0, idempotency = 1, commutation = 1, mu = 0;
  for (const quadrille_block_matrix* overlap : {s.get(), static_cast<quadrille_block_matrix*>(nullptr)}) {
    quadrille_block_matrix* p = nullptr;
    ASSERT_EQ(quadrille_block_density(h.get(), overlap, "trs4", system.electrons, &mu, 1e-8, &p,
                                      overlap == nullptr ? &without : &with, nullptr),
              QUADRILLE_DONE)
        << quadrille_block_message();
    const Handle owned(p, quadrille_block_matrix_destroy);
    EXPECT_TRUE(std::isnan(mu)) << "trs4 finds none";
    ASSERT_EQ(quadrille_block_density_check(p, h.get(), overlap, 0, &electrons, &idempotency, &commutation),
              QUADRILLE_DONE)
        << quadrille_block_message();
    EXPECT_NEAR(electrons, system.electrons, 1e-6);
    EXPECT_LT(idempotency, 1e-6);
    EXPECT_LT(commutation, 1e-6);
    EXPECT_EQ(quadrille_block_density_check(p, h.get(), overlap, -1, nullptr, nullptr, nullptr),
              QUADRILLE_INVALID_INPUT);
  }
  EXPECT_EQ(with, without);
}

TEST(BlockCApi, ElectronsAreWhole) {
  const ModelSystem system = model_system({.sizes = random_sizes(12, {2, 3}, next_seed()), .seed = next_seed()});
  const Handle h = handle_of(system.h);
  for (const char* method : {"sign", "trs4", "canonical", "dense"}) {
    for (const double electrons : {0.5, 3.3, 15.5, double(NAN)}) {
      quadrille_block_matrix* p = nullptr;
      double mu = 0;
      EXPECT_EQ(quadrille_block_density(h.get(), nullptr, method, electrons, &mu, 1e-6, &p, nullptr, nullptr),
                QUADRILLE_INVALID_INPUT);
      EXPECT_THAT(quadrille_block_message(), HasSubstr("electrons: their number must be whole"));
      EXPECT_EQ(p, nullptr);
    }
  }
}

/// -1 between neighbours: levels are -2 cos(2 pi k / n), all but the lowest and highest of them twice.
Handle ring_of(std::int32_t n) {
  const std::vector<std::int32_t> sizes(std::size_t(n), 1);
  BlockMatrix<double> h{BlockSizes(sizes), BlockSizes(sizes), Symmetry::symmetric};
  std::vector<BlockPlace> places;
  for (std::int32_t k = 0; k < n; ++k) places.push_back({k, (k + 1) % n});
  h.reserve(places);
  const double minus = -1;
  for (const BlockPlace& place : places) h.put(place.row, place.column, {&minus, 1}, false);
  return handle_of(h);
}

TEST(BlockCApi, AnInaccurateDensityMatrixHasAStatus) {
  const Handle ring = ring_of(40);
  quadrille_block_matrix* p = nullptr;
  double energy = 0, mu = 0;
  std::int32_t converged = 0;
  // Two levels at 0, one of which is occupied.
  EXPECT_EQ(quadrille_block_density(ring.get(), nullptr, "dense", 20, &mu, 1e-6, &p, &energy, &converged),
            QUADRILLE_INACCURATE);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("the highest occupied and the lowest empty level are both at "));
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(converged, 1);
  EXPECT_LT(energy, 0);
  quadrille_block_matrix_destroy(p);
  EXPECT_EQ(quadrille_block_density(ring.get(), nullptr, "dense", 21, &mu, 1e-6, &p, &energy, &converged),
            QUADRILLE_DONE);
  quadrille_block_matrix_destroy(p);
}

TEST(BlockCApi, ElectronsAndIdempotencyAreHeldAgainstEps) {
  EXPECT_EQ(density_doubts({.electrons = 30.001, .wanted = 30, .idempotency = 1e-3, .eps = 1e-4}), "");
  EXPECT_THAT(density_doubts({.electrons = 30.109, .wanted = 30, .eps = 1e-4}),
              HasSubstr("tr(PS) is 30.109000 for 30 electrons"));
  EXPECT_THAT(density_doubts({.electrons = 30, .wanted = 30, .idempotency = 0.056, .eps = 1e-4}),
              HasSubstr("|PSPS - PS| / |PS| is 5.6e-02"));
  EXPECT_THAT(density_doubts({.electrons = NAN, .wanted = 30, .eps = 1e-4}), HasSubstr("tr(PS) is nan"));
  EXPECT_NE(density_doubts({.electrons = 19.955, .wanted = 20, .eps = 1e-6}), "");
  EXPECT_EQ(density_doubts({.electrons = 20, .wanted = 20, .idempotency = 1e-10, .eps = 1e-14}), "");
}

TEST(BlockCApi, HandlesAreLookedUp) {
  const std::int32_t sizes[] = {2, 3};
  quadrille_block_matrix* a = nullptr;
  ASSERT_EQ(quadrille_block_matrix_create(2, sizes, 2, sizes, 1, &a), QUADRILLE_DONE);
  const Handle good =
      handle_of(random_blocks<double>(BlockSizes({2, 3}), BlockSizes({2, 3}), Symmetry::symmetric, 1, next_seed()));
  quadrille_block_matrix_destroy(a);
  quadrille_block_matrix_destroy(a);  // does nothing
  quadrille_block_matrix_destroy(nullptr);
  std::int64_t blocks = 0, starts[6];
  std::int32_t rank = 0, place[2] = {0, 0};
  double block[9], mu = 0;
  int number = 0;
  struct Case {
    quadrille_block_matrix* handle;
    const char* why;
  };
  for (const Case& one : {Case{a, "has been destroyed"}, Case{nullptr, "is null"},
                          Case{reinterpret_cast<quadrille_block_matrix*>(&number), "is not a handle"}}) {
    quadrille_block_matrix *const x = one.handle, *p = nullptr;
    const auto expect_refused = [&](quadrille_status status, const char* name) {
      EXPECT_EQ(status, QUADRILLE_INVALID_HANDLE) << name;
      EXPECT_THAT(quadrille_block_message(), HasSubstr(fmt::format("the block matrix {} {}", name, one.why)));
    };
    expect_refused(quadrille_block_matrix_get(x, 0, 0, block, nullptr), "matrix");
    expect_refused(quadrille_block_matrix_put(x, 0, 0, block, 0), "matrix");
    expect_refused(quadrille_block_matrix_export(x, &blocks, nullptr, nullptr, nullptr), "matrix");
    expect_refused(quadrille_block_matrix_reserve(x, 1, place), "matrix");
    expect_refused(quadrille_block_matrix_owner(x, 0, 0, &rank), "matrix");
    expect_refused(quadrille_block_matrix_to_columns(x, 0, 0, nullptr, starts, 0, nullptr, nullptr), "matrix");
    expect_refused(quadrille_block_multiply('N', 'N', 1, good.get(), x, 0, good.get(), 0, 0, nullptr), "b");
    expect_refused(quadrille_block_density(x, nullptr, "sign", 0, &mu, 1e-6, &p, nullptr, nullptr), "h");
    expect_refused(quadrille_block_density_check(good.get(), x, nullptr, 0, nullptr, nullptr, nullptr), "h");
    if (x != nullptr) {  // as S that is the identity
      expect_refused(quadrille_block_density(good.get(), x, "sign", 0, &mu, 1e-6, &p, nullptr, nullptr), "s");
      EXPECT_EQ(quadrille_block_matrix_create_on(reinterpret_cast<quadrille_block_grid*>(x), 2, sizes, 2, sizes, 0, &p),
                QUADRILLE_INVALID_HANDLE);
      EXPECT_THAT(quadrille_block_message(), HasSubstr("the grid of ranks grid is "));
    }
  }
  EXPECT_EQ(quadrille_block_matrix_get(good.get(), 0, 0, block, nullptr), QUADRILLE_DONE);
}

TEST(BlockCApi, CountsThatCannotBeAreInvalidInput) {
  const std::int32_t sizes[] = {2, 3}, place[] = {0, 0};
  quadrille_block_matrix *a = nullptr, *made = nullptr;
  ASSERT_EQ(quadrille_block_matrix_create(2, sizes, 2, sizes, 0, &a), QUADRILLE_DONE);
  const Handle owned(a, quadrille_block_matrix_destroy);
  const std::int64_t starts[] = {0};
  for (const std::int64_t count : {std::numeric_limits<std::int64_t>::max(), std::int64_t(5), std::int64_t(-1),
                                   std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(quadrille_block_matrix_reserve(a, count, place), QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_block_message(), HasSubstr(fmt::format("count = {}: the matrix has 4 blocks", count)));
    if (count == 5) continue;
    EXPECT_EQ(
        quadrille_block_matrix_from_columns(nullptr, 2, sizes, 0, count, nullptr, starts, nullptr, nullptr, &made),
        QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_block_message(), HasSubstr(fmt::format("count = {}", count)));
  }
}

TEST(BlockCApi, ColumnsThereAndBack) {
  const BlockSizes sizes = some_sizes(7);
  const BlockMatrix<double> a = random_blocks<double>(sizes, sizes, Symmetry::symmetric, 0.5, next_seed());
  const Handle given = handle_of(a);
  const std::int64_t n = sizes.total();
  for (const std::int32_t base : {0, 1}) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(n));  // backwards
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = std::int32_t(n - 1) - std::int32_t(k) + base;
    std::vector<std::int64_t> starts(order.size() + 1);
    ASSERT_EQ(quadrille_block_matrix_to_columns(given.get(), base, n, order.data(), starts.data(), 0, nullptr, nullptr),
              QUADRILLE_DONE)
        << quadrille_block_message();
    const std::int64_t elements = starts.back() - base;
    std::vector<std::int32_t> rows(static_cast<std::size_t>(elements));
    std::vector<double> values(rows.size());
    EXPECT_EQ(quadrille_block_matrix_to_columns(given.get(), base, n, order.data(), starts.data(), elements - 1,
                                                rows.data(), values.data()),
              QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_block_message(), HasSubstr(fmt::format("capacity = {}: it must be at least {}, the number of "
                                                                 "elements",
                                                                 elements - 1, elements)));
    ASSERT_EQ(quadrille_block_matrix_to_columns(given.get(), base, n, order.data(), starts.data(), elements,
                                                rows.data(), values.data()),
              QUADRILLE_DONE);
    quadrille_block_matrix* made = nullptr;
    ASSERT_EQ(quadrille_block_matrix_from_columns(nullptr, sizes.count(), sizes.sizes().data(), base, n, order.data(),
                                                  starts.data(), rows.data(), values.data(), &made),
              QUADRILLE_DONE)
        << quadrille_block_message();
    const Handle back(made, quadrille_block_matrix_destroy);
    for (std::int32_t i = 0; i < sizes.count(); ++i) {
      for (std::int32_t j = 0; j < sizes.count(); ++j) {
        std::vector<double> block(a.numbers(i, j)), expected = a.get(i, j);
        expected.resize(block.size());
        EXPECT_EQ(quadrille_block_matrix_get(made, i, j, block.data(), nullptr), QUADRILLE_DONE);
        EXPECT_EQ(block, expected);
      }
    }
  }
}

TEST(BlockCApi, MessagesOfColumnsCountAsTheCallerDoes) {
  const std::int32_t sizes[] = {1, 1};
  for (const std::int32_t base : {0, 1}) {
    std::int32_t columns[] = {base, base + 1}, rows[] = {base, base + 1};
    std::int64_t starts[] = {base, base + 1, base + 2};
    double values[] = {1, 2};
    quadrille_block_matrix* made = nullptr;
    const auto refused = [&](quadrille_status status) -> std::string {
      EXPECT_EQ(quadrille_block_matrix_from_columns(nullptr, 2, sizes, base, 2, columns, starts, rows, values, &made),
                status);
      return quadrille_block_message();
    };
    for (const std::int32_t row : {base - 1, base + 2}) {
      rows[1] = row;
      EXPECT_THAT(refused(QUADRILLE_INVALID_INPUT),
                  HasSubstr(fmt::format("element {} in column {} is in row {}: with base {} rows are {} to {}",
                                        base + 1, base + 1, row, base, base, base + 1)));
    }
    rows[1] = base + 1;
    for (const double value : {NAN, INFINITY, -INFINITY}) {
      values[1] = value;
      EXPECT_THAT(refused(QUADRILLE_NUMERICAL),
                  HasSubstr(fmt::format("element ({0}, {0}) is {1}: it must be finite", base + 1, value)));
    }
    values[1] = 2;
    rows[1] = base;
    EXPECT_THAT(refused(QUADRILLE_INVALID_INPUT),
                HasSubstr(fmt::format("elements [{0}, {1}] and [{1}, {0}] differ by 2", base, base + 1)));
    rows[1] = base + 1;
    for (const std::int32_t column : {base + 2, base - 1, std::numeric_limits<std::int32_t>::min()}) {
      columns[0] = column;
      EXPECT_THAT(
          refused(QUADRILLE_INVALID_INPUT),
          HasSubstr(fmt::format("columns[0] = {}: with base {} columns are {} to {}", column, base, base, base + 1)));
    }
    columns[0] = base;
    starts[0] = 7;
    EXPECT_THAT(refused(QUADRILLE_INVALID_INPUT),
                HasSubstr(fmt::format("starts[0] = 7: it must be equal to base, {}", base)));
  }
}

TEST(BlockCApi, BlocksMustBeFinite) {
  const std::int32_t rows[] = {2, 3}, columns[] = {4};
  quadrille_block_matrix* a = nullptr;
  ASSERT_EQ(quadrille_block_matrix_create(2, rows, 1, columns, 0, &a), QUADRILLE_DONE);
  const Handle owned(a, quadrille_block_matrix_destroy);
  const std::int32_t place[] = {1, 0};
  ASSERT_EQ(quadrille_block_matrix_reserve(a, 1, place), QUADRILLE_DONE);
  for (const double value : {NAN, INFINITY, -INFINITY}) {
    double block[12] = {};
    block[9] = value;
    EXPECT_EQ(quadrille_block_matrix_put(a, 1, 0, block, 0), QUADRILLE_NUMERICAL);
    EXPECT_THAT(quadrille_block_message(),
                HasSubstr(fmt::format("element (2, 1) of block (1, 0) is {}: it must be finite", value)));
  }
  double block[12] = {1}, found[12];
  EXPECT_EQ(quadrille_block_matrix_put(a, 1, 0, block, 0), QUADRILLE_DONE);
  EXPECT_EQ(quadrille_block_matrix_get(a, 1, 0, found, nullptr), QUADRILLE_DONE);
  EXPECT_TRUE(std::equal(block, block + 12, found));
}

TEST(BlockCApi, ErrorsAreStatusCodesWithMessages) {
  const std::int32_t sizes[] = {2, 3}, bad[] = {2, 0};
  quadrille_block_matrix* a = nullptr;
  EXPECT_EQ(quadrille_block_matrix_create(2, bad, 2, sizes, 0, &a), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("quadrille_block_matrix_create: block 1 has size 0"));
  EXPECT_EQ(quadrille_block_matrix_create(2, sizes, 2, sizes, 7, &a), QUADRILLE_INVALID_INPUT);
  ASSERT_EQ(quadrille_block_matrix_create(2, sizes, 2, sizes, 1, &a), QUADRILLE_DONE);
  const Handle owned(a, quadrille_block_matrix_destroy);
  const double block[9] = {};
  EXPECT_EQ(quadrille_block_matrix_put(a, 2, 0, block, 0), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("(2, 0) is outside"));
  EXPECT_EQ(quadrille_block_multiply('X', 'N', 1, a, a, 0, a, 0, 0, nullptr), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("trans_a = 'X'"));
  quadrille_block_report report{};
  EXPECT_EQ(quadrille_block_multiply('N', 'N', 1, a, a, 0, a, 0, 0, &report), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("struct_size = 0"));
  quadrille_block_matrix* p = nullptr;
  double mu = 0;
  EXPECT_EQ(quadrille_block_density(a, a, "sign", 2, &mu, 1e-6, &p, nullptr, nullptr), QUADRILLE_NUMERICAL);
  EXPECT_THAT(quadrille_block_message(), HasSubstr("S is not positive definite"));
}

}  // namespace
}  // namespace quadrille::block_dft
