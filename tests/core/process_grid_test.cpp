// How lattices are divided over ranks.
#include "core/comm/process_grid.h"

#include "core/error.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille {
namespace {

std::string problem(const Dims& global, int ranks, const std::optional<Dims>& wanted = {}) {
  try {
    (void)choose_grid(global, ranks, wanted);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.message();
  }
}

TEST(ProcessGrid, HasTheLeastToExchange) {
  EXPECT_EQ(choose_grid({16, 16, 16, 32}, 1, {}), (Dims{1, 1, 1, 1}));
  EXPECT_EQ(choose_grid({16, 16, 16, 32}, 2, {}), (Dims{1, 1, 1, 2}));
  EXPECT_EQ(choose_grid({16, 16, 16, 16}, 2, {}), (Dims{1, 1, 1, 2}));
  EXPECT_EQ(choose_grid({16, 16, 16, 16}, 4, {}), (Dims{1, 1, 1, 4}));  // as much as 1 1 2 2, in fewer directions
  EXPECT_EQ(choose_grid({16, 16, 16, 16}, 8, {}), (Dims{1, 1, 2, 4}));
  EXPECT_EQ(choose_grid({32, 16, 16, 8}, 2, {}), (Dims{2, 1, 1, 1}));
  EXPECT_EQ(choose_grid({24, 24, 24, 48}, 16, {}), (Dims{1, 1, 2, 8}));
}

TEST(ProcessGrid, AllThatDivideAreFoundOnce) {
  for (const int ranks : {1, 2, 3, 4, 6, 8, 12}) {
    const Dims global{8, 12, 4, 24};
    std::vector<Dims> grids = possible_grids(global, ranks);
    std::size_t expected = 0;
    for (int x = 1; x <= ranks; ++x)
      for (int y = 1; y <= ranks; ++y)
        for (int z = 1; z <= ranks; ++z)
          for (int t = 1; t <= ranks; ++t)
            expected += x * y * z * t == ranks && 8 % (2 * x) == 0 && 12 % (2 * y) == 0 && 4 % (2 * z) == 0 &&
                        24 % (2 * t) == 0;
    EXPECT_EQ(grids.size(), expected) << ranks;
    for (const Dims& grid : grids) EXPECT_TRUE(divides(global, grid));
    std::sort(grids.begin(), grids.end());
    EXPECT_EQ(std::unique(grids.begin(), grids.end()), grids.end());
  }
}

TEST(ProcessGrid, ErrorsProposeWhatWouldDo) {
  EXPECT_EQ(problem({8, 8, 8, 8}, 4, Dims{1, 1, 2, 2}), "");
  EXPECT_NE(problem({8, 8, 8, 8}, 4, Dims{1, 1, 1, 2}).find("has 2 ranks, but 4 were started"), std::string::npos);
  EXPECT_NE(problem({8, 8, 8, 8}, 1, Dims{1, 1, 1, 2}).find("but 1 was started"), std::string::npos);
  EXPECT_NE(problem({6, 8, 8, 8}, 2, Dims{2, 1, 1, 1}).find("possible grids are 1 1 1 2, 1 1 2 1 or 1 2 1 1"),
            std::string::npos)
      << problem({6, 8, 8, 8}, 2, Dims{2, 1, 1, 1});
  EXPECT_NE(problem({8, 8, 8, 8}, 3).find("start 2 or 4"), std::string::npos) << problem({8, 8, 8, 8}, 3);
}

}  // namespace
}  // namespace quadrille
