// Sums, gathering, neighbours, and steps that all ranks take or none.
#include "core/comm/agreement.h"
#include "core/layout/lattice.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace quadrille {
namespace {

using testing::all_ranks;
using testing::ranks;

TEST(RankCommunicator, SumsAreAddedInTheOrderOfRanks) {
  const auto all = all_ranks();
  std::vector<double> mine(5), expected(5);
  for (int rank = 0; rank < all->size(); ++rank) {
    std::mt19937_64 random(static_cast<std::uint64_t>(17 + rank));
    for (std::size_t i = 0; i < 5; ++i) {
      const double value = std::ldexp(std::normal_distribution<double>()(random), int(random() % 40));
      expected[i] = rank == 0 ? value : expected[i] + value;
      if (rank == all->rank()) mine[i] = value;
    }
  }
  all->sum(mine.data(), mine.size());
  EXPECT_EQ(mine, expected);
}

TEST(RankCommunicator, NotANumberIsTheLargest) {
  const auto all = all_ranks();
  double values[2] = {double(all->rank()), all->rank() == 1 ? std::numeric_limits<double>::quiet_NaN() : 1.0};
  all->maximum(values, 2);
  EXPECT_EQ(values[0], all->size() - 1);
  EXPECT_TRUE(std::isnan(values[1]));
}

TEST(RankCommunicator, SignalsAreKnownToAllAfterASum) {
  const auto all = all_ranks();
  EXPECT_EQ(all->agreed_signal(), 0);
  if (all->rank() == all->size() - 1) all->raise(15);
  double one = 1;
  all->sum(&one, 1);
  EXPECT_EQ(one, all->size());
  EXPECT_EQ(all->agreed_signal(), 15);
}

TEST(RankCommunicator, MessagesComeFromTheOppositeNeighbour) {
  for (const Dims& grid : possible_grids(testing::divided_dims, ranks().size())) {
    const auto communicator = ranks().communicator(grid);
    const Dims& here = communicator->coordinates();
    std::vector<std::array<int, 5>> sent(8), received(8);
    std::vector<Message> messages;
    for (int d = 0; d < 8; ++d) {
      sent[std::size_t(d)] = {here[0], here[1], here[2], here[3], d};
      messages.push_back({d, &sent[std::size_t(d)], &received[std::size_t(d)], sizeof sent[0]});
    }
    const std::unique_ptr<Channel> channel = communicator->channel(messages);
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (auto& one : received) one.fill(-1);
      channel->start();
      channel->finish();
      for (int d = 0; d < 8; ++d) {
        const std::size_t mu = std::size_t(d % 4);
        Dims from = here;
        from[mu] = (from[mu] + (d < 4 ? grid[mu] - 1 : 1)) % grid[mu];
        EXPECT_EQ(received[std::size_t(d)], (std::array<int, 5>{from[0], from[1], from[2], from[3], d}));
        EXPECT_EQ(communicator->at_edge(d), here[mu] == (d < 4 ? grid[mu] - 1 : 0));
      }
    }
  }
}

TEST(RankCommunicator, PartsOfALatticeCoverItOnce) {
  for (const Dims& grid : testing::some_grids()) {
    const Lattice lattice(testing::divided_dims, ranks().communicator(grid));
    std::vector<double> times(std::size_t(volume(testing::divided_dims)), 0.0);
    for (std::int64_t site = 0; site < lattice.volume(); ++site)
      times[std::size_t(lattice.global_site(lattice.coordinates(site)))] += 1;
    lattice.communicator().sum(times.data(), times.size());
    EXPECT_TRUE(std::all_of(times.begin(), times.end(), [](double n) { return n == 1; })) << grid_text(grid);
  }
}

TEST(RankAgreement, AStepThatFailsOnOneRankFailsOnAll) {
  const auto all = all_ranks();
  const int bad = all->size() - 1;
  std::string caught;
  try {
    all_or_none(*all, [&] {
      if (all->rank() == bad) throw Error(ErrorCode::file, "no space");
    });
  } catch (const FailedElsewhere& elsewhere) {
    caught = elsewhere.what();
  } catch (const Error& error) {
    caught = error.message();
  }
  EXPECT_EQ(caught, all->rank() == bad ? "no space" : "rank " + std::to_string(bad) + " has failed");
  int calls = 0;
  on_first_rank(*all, [&] { ++calls; });
  EXPECT_EQ(calls, all->rank() == 0 ? 1 : 0);
}

TEST(RankAgreement, TextsAreRankZeros) {
  const auto all = all_ranks();
  EXPECT_EQ(share(*all, std::string(std::size_t(3 + all->rank()), 'a')), "aaa");
}

TEST(RankAgreement, ARankWithAnotherTextSaysSo) {
  const auto all = all_ranks();
  const int bad = all->size() - 1;
  const auto caught = [&](const std::string& mine) -> std::string {
    try {
      require_same(*all, mine, [&](const std::string& of_first) {
        return Error(ErrorCode::invalid_input, mine + " here, " + of_first + " there");
      });
    } catch (const FailedElsewhere& elsewhere) {
      return elsewhere.what();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(caught("job"), "");
  EXPECT_EQ(caught(all->rank() == bad ? "another" : "job"),
            all->rank() == bad ? "another here, job there" : "rank " + std::to_string(bad) + " has failed");
}

}  // namespace
}  // namespace quadrille
