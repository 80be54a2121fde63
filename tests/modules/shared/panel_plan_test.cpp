// Panel plans: the blocks cover every product once, fit the memory, and move little.
#include "modules/shared/dense/panel_plan.h"

#include "core/error.h"
#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

namespace quadrille {
namespace {

/// What a machine sees that carries out a plan: it keeps the panels it was told to load.
struct Replay {
  double a = 0, b = 0, c_in = 0, c_out = 0;  ///< numbers moved
  std::int64_t largest = 0;                  ///< bytes of panels at a time
};

Replay replay(const ProductShape& shape, const PanelPlan& plan, const PanelMemory& memory) {
  Replay seen;
  std::tuple<std::int64_t, std::int64_t> held_a{-1, -1}, held_b{-1, -1}, held_c{-1, -1};
  for (std::int64_t number = 0; number < plan.steps(); ++number) {
    const PanelStep s = plan.step(number);
    if (s.load_a) {
      held_a = {s.row, s.depth};
      seen.a += double(s.rows) * double(s.depths);
    }
    if (s.load_b) {
      held_b = {s.depth, s.column};
      seen.b += double(s.depths) * double(s.columns);
    }
    if (s.begins_c) {
      EXPECT_EQ(held_c, std::tuple(-1, -1)) << "a block of C begins while another is unfinished";
      held_c = {s.row, s.column};
      seen.c_in += double(s.rows) * double(s.columns);
    }
    EXPECT_EQ(held_a, std::tuple(s.row, s.depth));
    EXPECT_EQ(held_b, std::tuple(s.depth, s.column));
    EXPECT_EQ(held_c, std::tuple(s.row, s.column));
    if (s.ends_c) {
      held_c = {-1, -1};
      seen.c_out += double(s.rows) * double(s.columns);
    }
    EXPECT_LE(s.row + s.rows, shape.m);
    EXPECT_LE(s.column + s.columns, shape.n);
    EXPECT_LE(s.depth + s.depths, shape.k);
    const std::int64_t bytes = memory.ab_buffers * s.depths * (memory.a_bytes * s.rows + memory.b_bytes * s.columns) +
                               std::int64_t(memory.c_buffers) * memory.c_bytes * s.rows * s.columns;
    seen.largest = std::max(seen.largest, bytes);
  }
  return seen;
}

TEST(PanelPlan, EveryProductIsDoneOnceAndNothingExceedsTheCap) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  const auto draw = [&](std::int64_t below) { return 1 + std::int64_t(random.uniform() * double(below)); };
  for (int trial = 0; trial < 300; ++trial) {
    const ProductShape shape{draw(40), draw(40), draw(40)};
    PanelMemory memory;
    memory.cap = 48 + draw(trial % 3 == 0 ? 200 : 20000);
    memory.a_bytes = trial % 2 ? 4 : 8;
    memory.c_bytes = trial % 5 == 0 ? 0 : 8;
    memory.ab_buffers = 1 + trial % 2;
    memory.c_buffers = 1 + trial / 2 % 2;
    memory.max_k = trial % 7 == 0 ? 5 : 1 << 30;
    memory.max_extent = trial % 11 == 0 ? 6 : 1 << 30;
    const PanelPlan plan = plan_panels(shape, memory);
    std::vector<int> done(std::size_t(shape.m * shape.n * shape.k));
    for (std::int64_t number = 0; number < plan.steps(); ++number) {
      const PanelStep s = plan.step(number);
      EXPECT_LE(s.depths, memory.max_k);
      EXPECT_LE(std::max(s.rows, s.columns), memory.max_extent);
      for (std::int64_t i = s.row; i < s.row + s.rows; ++i)
        for (std::int64_t j = s.column; j < s.column + s.columns; ++j)
          for (std::int64_t l = s.depth; l < s.depth + s.depths; ++l)
            ++done[std::size_t((i * shape.n + j) * shape.k + l)];
    }
    for (int count : done) ASSERT_EQ(count, 1) << "trial " << trial;
    const Replay seen = replay(shape, plan, memory);
    EXPECT_LE(seen.largest, plan.bytes(memory));
    EXPECT_LE(plan.bytes(memory), memory.cap);
    EXPECT_EQ(seen.c_in, double(shape.m * shape.n));
    EXPECT_EQ(seen.c_out, double(shape.m * shape.n));
  }
}

TEST(PanelPlan, TrafficIsThatOfTheSteps) {
  for (bool rows_outer : {true, false}) {
    for (std::int64_t depth : {4, 12}) {  // blocks that divide the sizes: then the mean panel is every panel
      const ProductShape shape{12, 20, 12};
      const PanelPlan plan(shape, 3, 5, depth, rows_outer);
      const PanelMemory memory;
      const Replay seen = replay(shape, plan, memory);
      EXPECT_DOUBLE_EQ(plan.traffic(memory, true), 8 * (seen.a + seen.b + seen.c_in + seen.c_out));
      EXPECT_DOUBLE_EQ(plan.traffic(memory, false), 8 * (seen.a + seen.b + seen.c_out));
    }
  }
}

/// Against 2 n^3 8 / sqrt(cap / 8) + 8 n^2 bytes, what blocks of C that fill the memory move. Blocks cannot be cut, so
/// sizes of a few blocks may be off by a good part of one.
TEST(PanelPlan, SquareProductsMoveLittle) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 0);
  for (int trial = 0; trial < 40; ++trial) {
    const std::int64_t n = 3000 + std::int64_t(random.uniform() * 30000);
    PanelMemory memory;
    const double blocks = 3.5 + 8 * random.uniform();  // of C along each side
    memory.cap = std::int64_t(8 * double(n) * double(n) / (blocks * blocks));
    const ProductShape shape{n, n, n};
    const PanelPlan plan = plan_panels(shape, memory, false);
    const Replay seen = replay(shape, plan, memory);
    const double size = double(n), moved = 8 * (seen.a + seen.b + seen.c_out);
    const double optimum = 2 * size * size * size * 8 / std::sqrt(double(memory.cap) / 8) + 8 * size * size;
    EXPECT_LT(moved, 1.25 * optimum) << "n " << n << ", cap " << memory.cap;
    memory.ab_buffers = 2;
    const Replay twice = replay(shape, plan_panels(shape, memory, false), memory);
    EXPECT_LT(8 * (twice.a + twice.b + twice.c_out), 1.35 * optimum) << "n " << n << ", cap " << memory.cap;
  }
}

TEST(PanelPlan, WhatFitsIsMovedOnce) {
  const ProductShape shape{1000, 700, 900};
  PanelMemory memory;
  memory.cap = 8 * (1000 * 700 + 1000 * 900 + 900 * 700);
  const Replay seen = replay(shape, plan_panels(shape, memory), memory);
  EXPECT_EQ(seen.a, 1000 * 900);
  EXPECT_EQ(seen.b, 900 * 700);
}

/// With a short k panels of A that stay move less than blocks of C that stay.
TEST(PanelPlan, ShortSumsKeepPanelsOfA) {
  const ProductShape shape{20000, 20000, 100};
  PanelMemory memory;
  memory.cap = 8 << 20;
  const Replay seen = replay(shape, plan_panels(shape, memory), memory);
  const double blocks_of_c = 2 * 20000.0 * 20000.0 * 100 / 1024;
  EXPECT_LT(seen.a + seen.b, 0.5 * blocks_of_c);
}

TEST(PanelPlan, EmptyProducts) {
  EXPECT_EQ(plan_panels({0, 5, 5}, {.cap = 1000}).steps(), 0);
  EXPECT_EQ(plan_panels({5, 0, 5}, {.cap = 1000}).steps(), 0);
  const PanelPlan plan = plan_panels({5, 5, 0}, {.cap = 1000});
  ASSERT_EQ(plan.steps(), 1);
  EXPECT_EQ(plan.step(0).depths, 0);
  EXPECT_TRUE(plan.step(0).begins_c && plan.step(0).ends_c);
}

TEST(PanelPlan, ACapThatHoldsNothingIsAnError) {
  EXPECT_EQ(plan_panels({100, 100, 100}, {.cap = 24}).bytes({}), 24);
  try {
    plan_panels({100, 100, 100}, {.cap = 23});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_NE(error.message().find("23 bytes"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("at least 24"), std::string::npos) << error.message();
  }
}

TEST(PanelPlan, PanelsAreAsLongAsTheyMustBe) {
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 1);
  int found = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const auto size = [&] { return 20 + std::int64_t(random.uniform() * 6000); };
    const ProductShape shape{size(), size(), size()};
    PanelMemory memory;
    memory.a_bytes = memory.b_bytes = 12;
    memory.c_bytes = 9;
    memory.min_k = 64;
    memory.max_k = 2048;
    memory.cap = std::int64_t(4 + 12 * random.uniform()) << 20;
    const auto plan = find_panels(shape, memory, true);
    if (!plan) continue;
    ++found;
    EXPECT_GE(plan->depth(), std::min<std::int64_t>(64, shape.k));
    EXPECT_LE(plan->bytes(memory), memory.cap);
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace quadrille
