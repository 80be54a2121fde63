#include "core/system/fibers.h"

#include "core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

namespace quadrille {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void release_all(Fibers& fibers) {
  for (const int number : fibers.waiting()) fibers.release(number);
}

TEST(Fibers, TakeTurnsUntilAllWait) {
  std::vector<std::string> seen;
  const auto say = [&](const std::string& what) { seen.push_back(std::to_string(Fibers::current()->number()) + what); };
  Fibers::run(
      3,
      [&](int i) {
        say("a");
        if (i == 1) Fibers::current()->pass();
        say("b");
        if (i == 2) return;
        Fibers::current()->wait();
        say("c");
      },
      [&](Fibers& fibers) {
        EXPECT_EQ(Fibers::current(), nullptr);
        EXPECT_THAT(fibers.waiting(), ElementsAre(0, 1));
        seen.push_back("serve");
        release_all(fibers);
      });
  EXPECT_THAT(seen, ElementsAre("0a", "0b", "1a", "2a", "2b", "1b", "serve", "0c", "1c"));
  EXPECT_EQ(Fibers::current(), nullptr);
  let_others_go_on();  // of which there are none
}

TEST(Fibers, KeepWhatIsTheirs) {
  constexpr int count = 17, turns = 50;
  std::vector<double> sums(count), asked(count);
  Fibers::run(
      count,
      [&](int i) {
        double sum = i, scale = 1.0 / (i + 1);  // in registers, too
        for (int turn = 0; turn < turns; ++turn) {
          asked[std::size_t(i)] = sum * scale;
          Fibers::current()->wait();
          sum += asked[std::size_t(i)];
        }
        sums[std::size_t(i)] = sum;
      },
      [&](Fibers& fibers) {
        for (const int i : fibers.waiting()) {
          asked[std::size_t(i)] = std::sqrt(asked[std::size_t(i)]);
          fibers.release(i);
        }
      });
  for (int i = 0; i < count; ++i) {
    double sum = i;
    for (int turn = 0; turn < turns; ++turn) sum += std::sqrt(sum * (1.0 / (i + 1)));
    EXPECT_DOUBLE_EQ(sums[std::size_t(i)], sum);
  }
}

TEST(Fibers, OneThatThrowsDoesNotDisturbTheOthers) {
  struct Counted {
    int& alive;
    explicit Counted(int& of) : alive(++of) {}
    ~Counted() { --alive; }
  };
  int alive = 0;
  std::vector<int> done;
  const auto run = [&] {
    Fibers::run(
        4,
        [&](int i) {
          const Counted here(alive);
          Fibers::current()->wait();
          if (i == 1 || i == 2) throw std::runtime_error("number " + std::to_string(i));
          Fibers::current()->wait();
          done.push_back(i);
        },
        release_all);
  };
  try {
    run();
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "number 1");
  }
  EXPECT_THAT(done, ElementsAre(0, 3));
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(Fibers::current(), nullptr);
}

TEST(Fibers, AllHearOfAServiceThatFails) {
  int heard = 0;
  const auto body = [&](int) {
    try {
      Fibers::current()->wait();
    } catch (const std::logic_error&) {
      ++heard;
    }
  };
  Fibers::run(3, body, [](Fibers&) { throw std::logic_error("no service"); });
  EXPECT_EQ(heard, 3);
  try {
    Fibers::run(
        2, [](int) { Fibers::current()->wait(); }, [](Fibers&) {});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none was released"));
  }
}

TEST(Fibers, MayHaveFibersOfTheirOwn) {
  std::vector<int> seen;
  Fibers::run(
      2,
      [&](int i) {
        Fibers::run(
            2,
            [&](int j) {
              Fibers::current()->wait();
              seen.push_back(10 * i + j);
            },
            release_all);
        EXPECT_EQ(Fibers::current()->number(), i);
        Fibers::current()->wait();
        seen.push_back(i);
      },
      release_all);
  EXPECT_THAT(seen, ElementsAre(0, 1, 10, 11, 0, 1));
}

}  // namespace
}  // namespace quadrille
