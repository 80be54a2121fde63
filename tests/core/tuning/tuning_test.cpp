// How the fastest candidate is found, and what the environment says about it.
#include "tests/core/tuning/tuning_testing.h"

#include "core/error.h"
#include "core/system/atomic_file.h"
#include "tests/testing/random_seed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace quadrille::testing;
using nlohmann::json;
using quadrille::Error;
using quadrille::ErrorCode;
using quadrille::Tuner;
using quadrille::TuningKey;
using quadrille::TuningSettings;
using Mode = TuningSettings::Mode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

// Choosing

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST_F(TuningTest, TakesTheFastestOfRandomTimes) {
  std::mt19937_64 random(quadrille::testing::next_seed());
  std::uniform_real_distribution<double> time(1e-6, 1e-3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    Times times(1 + random() % 12);
    std::vector<std::string> names;
    std::vector<double> least;
    for (auto& of_one : times) {
      of_one = {time(random)};
      names.push_back(fmt::format("c{}", names.size()));
      least.push_back(of_one[0]);
    }
    Fake fake(times);
    const int fastest = int(std::min_element(least.begin(), least.end()) - least.begin());
    EXPECT_EQ(Tuner(TuningSettings()).choose(key, names, fake.measure()), fastest);
  }
}

TEST_F(TuningTest, TheLeastTimeCountsAndTheWarmUpDoesNot) {
  // {warm-up, rounds}: the first is fastest in its warm-up, the second once in a later round.
  Fake fake({{1e-9, 5e-6, 5e-6, 5e-6}, {9e-6, 6e-6, 6e-6, 3e-6}, {9e-6, 4e-6, 4e-6, 4e-6}});
  EXPECT_EQ(Tuner(TuningSettings()).choose(key, three, fake.measure()), 1);
  EXPECT_THAT(fake.calls(), ElementsAre(4, 4, 4));
}

TEST_F(TuningTest, RunsEachCandidateABoundedNumberOfTimesAndTheHopelessLess) {
  Fake fake({{2.1e-6}, {1.9e-6}, {1e-6}});  // the last shows the first to be hopeless
  EXPECT_EQ(Tuner(TuningSettings()).choose(key, three, fake.measure()), 2);
  EXPECT_THAT(fake.calls(), ElementsAre(2, 1 + Tuner::timings, 1 + Tuner::timings));
}

TEST_F(TuningTest, TimesLongRunsOnce) {
  Fake fake({{1.9 * Tuner::long_run}, {0.99 * Tuner::long_run}, {1.1 * Tuner::long_run}});
  EXPECT_EQ(Tuner(TuningSettings()).choose(key, three, fake.measure()), 1);
  EXPECT_THAT(fake.calls(), ElementsAre(2, 1 + Tuner::timings, 2));
}

TEST_F(TuningTest, DropsCandidatesThatThrowOrGiveNoTime) {
  const double infinity = std::numeric_limits<double>::infinity();
  Fake fake({{throws}, {nan}, {1e-6, -1e-9}, {infinity}, {8e-6}, {1e-6, 1e-6, throws}});
  EXPECT_EQ(Tuner(TuningSettings()).choose(key, {"a", "b", "c", "d", "e", "f"}, fake.measure()), 4);
  EXPECT_THAT(fake.calls(), ElementsAre(1, 1, 2, 1, 3, 3));
}

TEST_F(TuningTest, SaysWhatWasDroppedWhenAskedTo) {
  Fake fake({{throws}, {1e-6}, {2e-6}});
  quadrille::log().set_level(spdlog::level::debug);
  Tuner(TuningSettings()).choose(key, three, fake.measure());
  quadrille::log().set_level(spdlog::level::info);
  EXPECT_THAT(said_.str(), HasSubstr("debug: tuning: candidate plain dropped: candidate 0 needs too much"));
}

TEST_F(TuningTest, RethrowsTheFirstExceptionWhenAllThrowAndTriesAgain) {
  Tuner tuner(settings());
  const auto measure = [](int candidate) -> double { throw std::runtime_error(fmt::format("no {}", candidate)); };
  for (int repeat = 0; repeat < 2; ++repeat) {
    try {
      tuner.choose(key, three, measure);
      ADD_FAILURE() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "no 0");
    }
  }
  EXPECT_FALSE(fs::exists(path()));
  Fake better(second_wins);
  EXPECT_EQ(tuner.choose(key, three, better.measure()), 1);
}

TEST_F(TuningTest, TakesOneThatRunsWhenNoneCanBeTimed) {
  Tuner tuner(settings());
  Fake fake({{throws}, {nan}, {-1}});
  EXPECT_EQ(tuner.choose(key, three, fake.measure()), 1);
  EXPECT_EQ(tuner.choose(key, three, fake.measure()), 1);
  EXPECT_THAT(fake.calls(), ElementsAre(1, 1, 1));
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(TuningTest, MeasuresASingleCandidateNever) {
  Fake fake(Times{{throws}});
  EXPECT_EQ(chosen(fake, key, {"only"}), 0);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(TuningTest, NoCandidatesAreAnError) {
  const auto measure = [](int) { return 1.0; };
  for (const Mode mode : {Mode::On, Mode::Off, Mode::Force}) {
    Tuner tuner(TuningSettings{.mode = mode});
    EXPECT_THROW(tuner.choose(key, {}, measure), Error);
  }
}

TEST_F(TuningTest, ASecondCallMeasuresNothing) {
  Tuner tuner{TuningSettings()};
  Fake fake(second_wins), other({{1e-6}, {2e-6}, {3e-6}});
  EXPECT_EQ(tuner.choose(key, three, fake.measure()), 1);
  const std::vector<int> calls = fake.calls();
  EXPECT_EQ(tuner.choose(key, three, fake.measure()), 1);
  EXPECT_EQ(fake.calls(), calls);
  TuningKey changed = key;
  changed.problem += " xpay";
  EXPECT_EQ(tuner.choose(changed, three, other.measure()), 0);
  EXPECT_EQ(tuner.choose(key, three, other.measure()), 1);
}

TEST_F(TuningTest, KnowsTheChoicesThatNeedNoMeasurement) {
  Tuner tuner((TuningSettings()));
  EXPECT_EQ(tuner.known(key, three), std::nullopt);
  EXPECT_EQ(tuner.known(key, {"alone"}), 0);
  Fake fake({{3e-6}, {1e-6}, {2e-6}});
  ASSERT_EQ(tuner.choose(key, three, fake.measure()), 1);
  EXPECT_EQ(tuner.known(key, three), 1);
  EXPECT_EQ(tuner.known(key, {"others", "than", "these"}), std::nullopt);
  EXPECT_EQ(Tuner({.mode = TuningSettings::Mode::Off}).known(key, three), 0);
  EXPECT_EQ(Tuner({.mode = TuningSettings::Mode::Force, .forced = 5}).known(key, three), 2);
}

TEST_F(TuningTest, AnotherListOfCandidatesIsMeasuredAgain) {
  Tuner tuner{TuningSettings()};
  Fake fake(second_wins), again({{2e-6}, {1e-6}});
  EXPECT_EQ(tuner.choose(key, three, fake.measure()), 1);
  EXPECT_EQ(tuner.choose(key, {"tile_8", "tile_16"}, again.measure()), 1);
  EXPECT_THAT(again.calls(), ElementsAre(4, 4));
}

TEST_F(TuningTest, AMeasurementMayTuneTheSameAndOtherProblems) {
  Tuner tuner(settings());
  Fake inner(second_wins), outer(second_wins);
  const TuningKey other{key.device, key.build, "other"};
  const auto measure = [&](int candidate) {
    EXPECT_EQ(tuner.choose(key, three, [](int) -> double { throw std::logic_error("measured inside"); }), 0);
    EXPECT_EQ(tuner.choose(other, three, inner.measure()), 1);
    return outer.measure()(candidate);
  };
  EXPECT_EQ(tuner.choose(key, three, measure), 1);
  EXPECT_THAT(inner.calls(), ElementsAre(4, 4, 4));
  EXPECT_TRUE(remembered(key));
  EXPECT_TRUE(remembered(other));
}

TEST_F(TuningTest, AMeasurementMayWaitForAThreadThatTunes) {
  Tuner tuner{TuningSettings()};
  Fake fake(second_wins);
  const auto measure = [&](int candidate) {
    int seen = -1;
    std::thread([&] { seen = tuner.choose(key, three, [](int) { return 1.0; }); }).join();
    EXPECT_EQ(seen, 0);
    return fake.measure()(candidate);
  };
  EXPECT_EQ(tuner.choose(key, three, measure), 1);
}

// The environment

TEST_F(TuningTest, ReadsTheModeFromTheEnvironment) {
  const auto mode_of = [](const std::optional<std::string>& value) {
    const Variable variable("QUADRILLE_TUNING", value);
    return quadrille::tuning_settings();
  };
  EXPECT_EQ(mode_of(std::nullopt).mode, Mode::On);
  EXPECT_EQ(mode_of("").mode, Mode::On);
  EXPECT_EQ(mode_of("on").mode, Mode::On);
  EXPECT_EQ(mode_of("off").mode, Mode::Off);
  EXPECT_EQ(mode_of("force:0").mode, Mode::Force);
  EXPECT_EQ(mode_of("force:17").forced, 17u);
}

TEST_F(TuningTest, NamesAModeThatIsNotKnown) {
  for (const char* value : {"fast", "ON", "force", "force:", "force:-1", "force:1x", "force: 1", "force:+1", "0",
                            "force:99999999999999999999999"}) {
    const Variable variable("QUADRILLE_TUNING", value);
    try {
      Tuner tuner;
      ADD_FAILURE() << value << " was taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_THAT(error.what(), HasSubstr(fmt::format("QUADRILLE_TUNING: unknown value '{}'", value)));
      EXPECT_THAT(error.what(), HasSubstr("on, off or force:N"));
    }
  }
}

TEST_F(TuningTest, FindsThePlaceOfTheFile) {
  using Value = std::optional<std::string>;
  const auto file_of = [](const Value& file, const Value& cache, const Value& home) {
    const Variable mode("QUADRILLE_TUNING", std::nullopt), a("QUADRILLE_TUNING_FILE", file), b("XDG_CACHE_HOME", cache),
        c("HOME", home);
    return quadrille::tuning_settings().file;
  };
  EXPECT_EQ(file_of("my.json", "/cache", "/home/me"), "my.json");
  EXPECT_EQ(file_of(std::nullopt, "/cache", "/home/me"), "/cache/quadrille/tuning.json");
  EXPECT_EQ(file_of("", "relative", "/home/me"), "/home/me/.cache/quadrille/tuning.json");
  EXPECT_EQ(file_of(std::nullopt, "", "/home/me"), "/home/me/.cache/quadrille/tuning.json");
  EXPECT_EQ(file_of(std::nullopt, std::nullopt, std::nullopt), "");
  EXPECT_EQ(file_of(std::nullopt, std::nullopt, "relative"), "");
}

TEST_F(TuningTest, OffAndForceNeitherMeasureNorReadNorWrite) {
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  const std::string before = content(path());
  const Variable file("QUADRILLE_TUNING_FILE", path());
  const auto choice = [](const std::string& value) {
    const Variable mode("QUADRILLE_TUNING", value);
    Fake forbidden({{throws}, {throws}, {throws}});
    Tuner tuner;
    const int index = tuner.choose(key, three, forbidden.measure());
    tuner.choose({key.device, key.build, "new"}, three, forbidden.measure());
    EXPECT_THAT(forbidden.calls(), ElementsAre(0, 0, 0));
    return index;
  };
  EXPECT_EQ(choice("off"), 0);
  EXPECT_EQ(choice("force:0"), 0);
  EXPECT_EQ(choice("force:2"), 2);
  EXPECT_EQ(choice("force:4"), 1);
  EXPECT_EQ(choice("force:18446744073709551615"), 0);  // 2^64 - 1 is a multiple of 3
  EXPECT_EQ(content(path()), before);
  quadrille::write_file(path(), "no JSON");
  EXPECT_EQ(choice("off"), 0);
  EXPECT_EQ(choice("force:1"), 1);
  EXPECT_EQ(content(path()), "no JSON");
  EXPECT_EQ(warnings(), 0u);
}

TEST_F(TuningTest, TheTunerOfThisProcessIsOne) { EXPECT_EQ(&quadrille::tuner(), &quadrille::tuner()); }

}  // namespace
