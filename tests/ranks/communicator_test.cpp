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

TEST(RankCommunicator, PiecesGoBetweenAnyRanks) {
  const auto all = all_ranks();
  const int me = all->rank(), count = all->size();
  // Two pieces of different lengths for each; the longer one is on its way while the other is pushed.
  const auto length = [](int from, int to, int which) { return std::size_t(which == 0 ? 3 + from : 40000 + 100 * to); };
  const auto number = [](int from, int to, int which) { return 1000 * from + 10 * to + which; };
  std::vector<std::vector<int>> sent, received;
  sent.reserve(std::size_t(2 * count));
  received.reserve(std::size_t(2 * count));
  std::vector<Piece> send, receive;
  for (int other = 0; other < count; ++other) {
    for (int which = 0; which < 2 && other != me; ++which) {
      std::vector<int>& to = sent.emplace_back(length(me, other, which), number(me, other, which));
      std::vector<int>& from = received.emplace_back(length(other, me, which), -1);
      send.push_back({other, to.data(), to.size() * sizeof(int)});
      receive.push_back({other, from.data(), from.size() * sizeof(int)});
    }
  }
  const std::unique_ptr<Channel> channel = all->channel(send, receive);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (auto& one : received) std::fill(one.begin(), one.end(), -1);
    channel->start();
    for (int k = 0; k < 3; ++k) channel->push();
    channel->finish();
    for (std::size_t k = 0; k < received.size(); ++k) {
      const int which = int(k % 2), expected = number(receive[k].rank, me, which);
      EXPECT_TRUE(std::all_of(received[k].begin(), received[k].end(), [&](int found) { return found == expected; }))
          << "piece " << which << " of rank " << receive[k].rank;
    }
  }
}

TEST(RankCommunicator, BytesOfAnyLengthAreExchanged) {
  const auto all = all_ranks();
  const auto bytes = [&](int from, int to) {
    return Communicator::Bytes(std::size_t((from + to) % 3 == 0 ? 0 : 5 * from + to), char('a' + from));
  };
  std::vector<Communicator::Bytes> for_ranks;
  for (int to = 0; to < all->size(); ++to) for_ranks.push_back(bytes(all->rank(), to));
  const std::vector<Communicator::Bytes> come = all->exchange(for_ranks);
  for (int from = 0; from < all->size(); ++from) EXPECT_EQ(come[std::size_t(from)], bytes(from, all->rank()));
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
