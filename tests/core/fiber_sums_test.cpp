// Sums over ranks of several fibers: one message, and the numbers that each has alone.
#include "core/comm/fiber_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace quadrille {
namespace {

using ::testing::ElementsAre;

/// This process, and ranks that have made multiples of its numbers.
class Ranks final : public Communicator {
 public:
  static constexpr std::array<double, 3> factors{1.0, 0.3, -1.0 / 7};

  int rank() const override { return 0; }
  int size() const override { return int(factors.size()); }
  const Dims& grid() const override { return grid_; }
  const Dims& coordinates() const override { return origin_; }
  void gather(const void* mine, std::size_t bytes, void* all) const override {
    std::vector<double> numbers(bytes / sizeof(double));
    std::memcpy(numbers.data(), mine, bytes);
    messages.push_back(numbers.size());
    for (std::size_t rank = 0; rank < factors.size(); ++rank) {
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const bool signal = i + 1 == numbers.size();
        const double number = signal ? (rank == 1 ? raised_elsewhere : numbers[i]) : factors[rank] * numbers[i];
        std::memcpy(static_cast<char*>(all) + rank * bytes + i * sizeof number, &number, sizeof number);
      }
    }
  }
  void broadcast(void*, std::size_t, int) const override { ADD_FAILURE(); }
  void barrier() const override { ADD_FAILURE(); }
  std::unique_ptr<Channel> channel(std::vector<Message>) const override { return nullptr; }
  std::unique_ptr<Channel> channel(const std::vector<Piece>&, const std::vector<Piece>&) const override {
    return nullptr;
  }

  double raised_elsewhere = 0;
  mutable std::vector<std::size_t> messages;  ///< their numbers, the signal among them

 private:
  Dims grid_{1, 1, 1, 3}, origin_{0, 0, 0, 0};
};

/// Each fiber sums as many numbers as it is told, as often, and goes on with what it gets.
std::vector<double> sums_of(const Ranks& ranks, int fiber, int turns) {
  std::mt19937_64 random(std::uint64_t(fiber) + 1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(std::size_t(fiber) + 1);
  for (double& value : values) value = uniform(random);
  for (int turn = 0; turn < turns; ++turn) ranks.sum(values.data(), values.size());
  return values;
}

TEST(FiberSums, AreThoseOfEachAloneInOneMessage) {
  constexpr int fibers = 4;
  const Ranks alone, together;
  std::vector<std::vector<double>> joined(fibers);
  {
    FiberSums sums(together);
    Fibers::run(
        fibers, [&](int i) { joined[std::size_t(i)] = sums_of(together, i, i == 2 ? 1 : 3); },
        [&](Fibers& waiting) { EXPECT_TRUE(sums.serve(waiting)); });
  }
  EXPECT_THAT(together.messages, ElementsAre(1 + 2 + 3 + 4 + 1, 1 + 2 + 4 + 1, 1 + 2 + 4 + 1));
  for (int i = 0; i < fibers; ++i) EXPECT_EQ(joined[std::size_t(i)], sums_of(alone, i, i == 2 ? 1 : 3));
}

TEST(FiberSums, OutsideOfFibersAreFormedAtOnce) {
  const Ranks ranks, others;
  FiberSums sums(ranks);
  EXPECT_EQ(sums_of(ranks, 1, 1), sums_of(Ranks(), 1, 1));
  std::vector<double> of_others;
  Fibers::run(
      1, [&](int) { of_others = sums_of(others, 1, 1); }, [&](Fibers&) { ADD_FAILURE(); });
  EXPECT_EQ(of_others, sums_of(Ranks(), 1, 1));
}

TEST(FiberSums, CarrySignals) {
  Ranks ranks;
  ranks.raised_elsewhere = 15;
  FiberSums sums(ranks);
  std::array<int, 2> heard{};
  Fibers::run(
      2,
      [&](int i) {
        ranks.agree_on_signals();
        heard[std::size_t(i)] = ranks.agreed_signal();
      },
      [&](Fibers& waiting) { (void)sums.serve(waiting); });
  EXPECT_THAT(heard, ElementsAre(15, 15));
  EXPECT_EQ(ranks.messages.size(), 1u);
}

TEST(FiberSums, OthersThatWaitAreLeftWaiting) {
  const Ranks ranks;
  FiberSums sums(ranks);
  std::string order;
  Fibers::run(
      2,
      [&](int i) {
        if (i == 0) Fibers::current()->wait();
        if (i == 1) (void)sums_of(ranks, 1, 2);
        order += char('0' + i);
      },
      [&](Fibers& fibers) {
        if (!sums.serve(fibers)) fibers.release(0);
      });
  EXPECT_EQ(order, "10");
}

TEST(FiberSums, OfOneProcessAreNotJoined) {
  const auto one = single_process();
  FiberSums sums(*one);
  double value = 3;
  Fibers::run(
      1, [&](int) { one->sum(&value, 1); }, [&](Fibers&) { ADD_FAILURE(); });
  EXPECT_EQ(value, 3);
}

}  // namespace
}  // namespace quadrille
