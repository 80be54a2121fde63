#include "core/tuning/tuning.h"

#include "core/error.h"
#include "core/system/atomic_file.h"
#include "core/system/log.h"
#include "tests/random_seed.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using nlohmann::json;
using quadrille::Error;
using quadrille::ErrorCode;
using quadrille::Tuner;
using quadrille::TuningCache;
using quadrille::TuningKey;
using quadrille::TuningSettings;
using Mode = TuningSettings::Mode;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace fs = std::filesystem;

/// Sets or removes an environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// Fake measurements: the times that each candidate gives one after the other (the last one for ever), NaN and negative
/// ones included; `throws` for an exception. Counts its calls.
constexpr double throws = 1e99;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using Times = std::vector<std::vector<double>>;

class Fake {
 public:
  explicit Fake(Times times) : times_(std::move(times)), calls_(times_.size()) {}
  std::function<double(int)> measure() {
    return [this](int candidate) {
      const std::vector<double>& times = times_.at(std::size_t(candidate));
      const std::size_t call = std::size_t(calls_.at(std::size_t(candidate))++);
      const double time = times[std::min(call, times.size() - 1)];
      if (time == throws) throw std::runtime_error(fmt::format("candidate {} needs too much", candidate));
      return time;
    };
  }
  const std::vector<int>& calls() const { return calls_; }

 private:
  Times times_;
  std::vector<int> calls_;
};

const TuningKey key{"device one", "build one", "wilson_half_12 8x8x8x16"};
const std::vector<std::string> three{"plain", "tile_4", "tile_8"};
const Times second_wins{{3e-6}, {2e-6}, {2.5e-6}};

class TuningTest : public ::testing::Test {
 protected:
  TuningTest() {
    std::string name = (fs::temp_directory_path() / "quadrille-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    sinks_ = quadrille::log().sinks();
    quadrille::log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(said_)};
    quadrille::log().set_pattern("%l: %v");
  }
  ~TuningTest() override {
    quadrille::log().sinks() = sinks_;
    quadrille::log().set_pattern("quadrille: %^%l%$: %v");
    fs::remove_all(folder_);
  }

  std::string path(const std::string& name = "tuning.json") const { return (folder_ / name).string(); }
  TuningSettings settings(const std::string& name = "tuning.json") const { return {.file = path(name)}; }
  static std::string content(const std::string& name) {
    std::ifstream stream(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  json entries(const std::string& name = "tuning.json") const { return json::parse(content(path(name))).at("entries"); }
  /// How often a level ("warning: ") was logged.
  std::size_t lines(const std::string& level) const {
    const std::string text = said_.str();
    std::size_t count = 0;
    for (auto at = text.find(level); at != std::string::npos; at = text.find(level, at + 1)) ++count;
    return count;
  }
  std::size_t warnings() const { return lines("warning: "); }
  /// The choice of a new process, that measures where it must.
  int chosen(Fake& fake, const TuningKey& what = key, const std::vector<std::string>& candidates = three) const {
    return Tuner(settings()).choose(what, candidates, fake.measure());
  }
  /// True when a new process finds the choice 1 of `what` without measuring.
  bool remembered(const TuningKey& what = key) const {
    Fake fake(second_wins);
    return chosen(fake, what) == 1 && fake.calls() == std::vector<int>(3, 0);
  }

  fs::path folder_;
  std::ostringstream said_;
  std::vector<spdlog::sink_ptr> sinks_;
};

// Choosing

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

// The cache file

TEST_F(TuningTest, AnotherProcessFindsTheChoiceOnDisk) {
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  EXPECT_TRUE(remembered());
  const json file = json::parse(content(path()));
  EXPECT_EQ(file.at("format"), "quadrille-tuning");
  EXPECT_EQ(file.at("version"), 1);
  ASSERT_THAT(file.at("entries"), SizeIs(1));
  const json& entry = file["entries"][0];
  EXPECT_EQ(entry.at("device"), key.device);
  EXPECT_EQ(entry.at("build"), key.build);
  EXPECT_EQ(entry.at("problem"), key.problem);
  EXPECT_EQ(entry.at("chosen"), "tile_4");
  EXPECT_EQ(entry.at("microseconds"), 2.0);
  EXPECT_EQ(entry.at("candidates"), json(three));
  EXPECT_THAT(entry.at("when").get<std::string>(), ::testing::MatchesRegex("20..-..-..T..:..:..Z"));
  EXPECT_EQ(warnings(), 0u);
}

TEST_F(TuningTest, MakesTheFolderOfTheFile) {
  Fake fake(second_wins);
  Tuner(settings("new/folder/a.json")).choose(key, three, fake.measure());
  EXPECT_THAT(entries("new/folder/a.json"), SizeIs(1));
}

TEST_F(TuningTest, WithoutAFileTheChoiceLivesAsLongAsTheProcess) {
  Fake fake(second_wins);
  EXPECT_EQ(Tuner(TuningSettings()).choose(key, three, fake.measure()), 1);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(warnings(), 0u);
}

TEST_F(TuningTest, EachPartOfTheKeyCountsAndOtherEntriesAreKept) {
  std::vector<TuningKey> keys(4, key);
  keys[1].device = "device two";
  keys[2].build = "build two";
  keys[3].problem = "wilson_double_18 8x8x8x16";
  for (const TuningKey& each : keys) {
    Fake fake(second_wins);
    EXPECT_EQ(chosen(fake, each), 1);
    EXPECT_THAT(fake.calls(), ElementsAre(4, 4, 4));
  }
  EXPECT_THAT(entries(), SizeIs(4));
  for (const TuningKey& each : keys) EXPECT_TRUE(remembered(each)) << each.device << each.build << each.problem;
}

TEST_F(TuningTest, AnEntryForOtherCandidatesIsMeasuredAgainAndReplaced) {
  Fake first(second_wins), again({{3e-6}, {2e-6}, {1e-6}});
  chosen(first);
  EXPECT_EQ(chosen(again, key, {"plain", "tile_4", "tile_16"}), 2);
  ASSERT_THAT(entries(), SizeIs(1));
  EXPECT_EQ(entries()[0].at("chosen"), "tile_16");
  EXPECT_EQ(warnings(), 0u);
  EXPECT_EQ(lines("info: "), 1u) << said_.str();
  EXPECT_THAT(said_.str(), HasSubstr("info: tuning cache " + path() + ": its choices for other lists of candidates"));
}

TEST_F(TuningTest, ThatAFileIsOfAnotherBuildIsSaidOnce) {
  const TuningKey first = key, second{key.device, key.build, "second"};
  for (const TuningKey& each : {first, second}) {
    Fake fake(second_wins);
    EXPECT_EQ(chosen(fake, each), 1);
  }
  EXPECT_EQ(lines("info: "), 0u) << said_.str();
  const auto rebuilt = [](TuningKey of) {
    of.build = "build two";
    return of;
  };
  {
    Tuner tuner(settings());
    for (const TuningKey& each : {first, second}) {
      Fake fake(second_wins);
      EXPECT_EQ(tuner.choose(rebuilt(each), three, fake.measure()), 1);
      EXPECT_THAT(fake.calls(), ElementsAre(4, 4, 4));
    }
  }
  EXPECT_EQ(lines("info: "), 1u) << said_.str();
  EXPECT_THAT(said_.str(), HasSubstr("info: tuning cache " + path() + ": its choices for other builds"));
  EXPECT_EQ(warnings(), 0u);
  EXPECT_TRUE(remembered(first));  // both builds have theirs now, and nothing is said
  EXPECT_TRUE(remembered(rebuilt(first)));
  Fake of_another_device(second_wins), of_another_problem(second_wins);
  chosen(of_another_device, {"device two", "build three", first.problem});
  chosen(of_another_problem, {key.device, "build three", "third"});
  EXPECT_EQ(lines("info: "), 1u) << said_.str();
}

TEST_F(TuningTest, StrangeBytesInNamesAreNoError) {
  const TuningKey strange{"\xff\xfe \"quoted\" {}", "a\nb\\", std::string("nul \0 within", 12)};
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake, strange), 1);
  EXPECT_THAT(entries(), SizeIs(1));
  EXPECT_EQ(warnings(), 0u);
}

/// A file whose `text` cannot be used: one warning that names it and `reason`, and a good file afterwards.
class UnusableFile : public TuningTest,
                     public ::testing::WithParamInterface<std::tuple<std::string, std::string, bool>> {};

TEST_P(UnusableFile, IsOneWarningAndIsReplaced) {
  const auto& [text, reason, foreign] = GetParam();
  quadrille::write_file(path(), text);
  {
    Tuner tuner(settings());
    Fake fake(second_wins), other(second_wins);
    EXPECT_EQ(tuner.choose(key, three, fake.measure()), 1);
    EXPECT_THAT(fake.calls(), ElementsAre(4, 4, 4));
    EXPECT_EQ(tuner.choose({key.device, key.build, "other"}, three, other.measure()), 1);
  }
  EXPECT_THAT(said_.str(), HasSubstr("warning: tuning cache " + path() + ": " + reason));
  EXPECT_EQ(warnings(), 1u);
  EXPECT_THAT(entries(), SizeIs(2));
  EXPECT_TRUE(remembered());
  EXPECT_EQ(warnings(), 1u);
  EXPECT_EQ(fs::exists(path("tuning.json.old")), foreign);
  EXPECT_EQ(content(path("tuning.json.old")), foreign ? text : "");
}

INSTANTIATE_TEST_SUITE_P(
    All, UnusableFile,
    ::testing::Values(std::tuple("", "it is empty", false), std::tuple("no JSON", "it is not JSON", true),
                      std::tuple("{\"format\": \"quadrille-tuning\", \"ver", "it is not JSON", true),
                      std::tuple(std::string(100, '\0'), "it is not JSON", true),
                      std::tuple("1e999", "it is not JSON", true), std::tuple("[1, 2]", "it has no \"format\"", true),
                      std::tuple("{\"format\": 1}", "it has no \"format\"", true),
                      std::tuple("{\"format\": \"quadrille-tuning\", \"version\": 2, \"entries\": []}",
                                 "its format version is 2, not 1", false),
                      std::tuple("{\"format\": \"quadrille-tuning\"}", "its format version is null, not 1", false),
                      std::tuple("{\"format\": \"quadrille-tuning\", \"version\": 1, \"entries\": {}}",
                                 "its entries are not a list", false)));

TEST_F(TuningTest, AFileThatIsTooLargeIsNotRead) {
  quadrille::write_file(path(), "");
  fs::resize_file(path(), TuningCache::most_bytes + 1);  // a hole, that takes no space
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  EXPECT_THAT(said_.str(), HasSubstr("larger than 16 MiB"));
  EXPECT_TRUE(remembered());
}

json good_entry(const std::string& problem) {
  return {{"device", key.device},
          {"build", key.build},
          {"problem", problem},
          {"chosen", "tile_4"},
          {"microseconds", 2.5},
          {"candidates", three},
          {"when", "2026-01-01T00:00:00Z"}};
}

json file_of(const json& entries) { return {{"format", "quadrille-tuning"}, {"version", 1}, {"entries", entries}}; }

TEST_F(TuningTest, DamagedEntriesAreOneWarningAndTheOthersAreUsed) {
  const std::vector<std::pair<std::string, json>> damages{
      {"device", 1}, {"build", nullptr}, {"problem", json::array()}, {"chosen", "tile_99"},
      {"chosen", 2}, {"candidates", 3},  {"candidates", {1, 2, 3}},  {"microseconds", "2.5"},
      {"when", 5},   {"when", "absent"}};
  for (const auto& [field, value] : damages) {
    json damaged = good_entry("damaged");
    damaged[field] = value;
    if (value == "absent") damaged.erase(field);
    quadrille::write_file(path(), file_of({good_entry(key.problem), damaged, 7}).dump());
    said_.str("");
    EXPECT_TRUE(remembered()) << field;
    EXPECT_EQ(warnings(), 1u);
    EXPECT_THAT(said_.str(), HasSubstr(path() + ": entry 2 is damaged: "));
    Fake fake(second_wins);
    EXPECT_EQ(chosen(fake, {key.device, key.build, "new"}), 1);
    EXPECT_THAT(entries(), SizeIs(2)) << field;
    EXPECT_FALSE(fs::exists(path("tuning.json.old")));
  }
}

TEST_F(TuningTest, SomeoneElsesFileIsNeverLost) {
  quadrille::write_file(path(), "precious");
  quadrille::write_file(path("tuning.json.old"), "precious too");
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  EXPECT_EQ(content(path()), "precious");
  EXPECT_EQ(content(path("tuning.json.old")), "precious too");
  EXPECT_THAT(said_.str(), HasSubstr("so it is not overwritten"));
  EXPECT_EQ(warnings(), 2u);  // one about reading, one about writing
}

TEST_F(TuningTest, ALinkedFileStaysALink) {
  fs::create_directory(path("real"));
  quadrille::write_file(path("real/a.json"), "");
  fs::create_symlink("real/a.json", path());
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_THAT(entries("real/a.json"), SizeIs(1));
  EXPECT_TRUE(remembered());
}

TEST_F(TuningTest, APipeOrAFolderInTheFilesPlaceIsLeftAlone) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);  // to open it would wait for ever
  fs::create_directory(path("folder"));
  for (const char* name : {"pipe", "folder"}) {
    said_.str("");
    Fake fake(second_wins);
    EXPECT_EQ(Tuner(settings(name)).choose(key, three, fake.measure()), 1);
    EXPECT_THAT(said_.str(), HasSubstr(path(name) + ": it is not a regular file"));
    EXPECT_FALSE(fs::is_regular_file(path(name)));
  }
}

TEST_F(TuningTest, AFileThatCannotBeWrittenIsOneWarning) {
  quadrille::write_file(path("plain"), "x");
  Tuner tuner(settings("plain/a.json"));
  for (const char* problem : {"one", "two", "three"}) {
    Fake fake(second_wins);
    EXPECT_EQ(tuner.choose({key.device, key.build, problem}, three, fake.measure()), 1);
    EXPECT_EQ(tuner.choose({key.device, key.build, problem}, three, fake.measure()), 1);
    EXPECT_THAT(fake.calls(), ElementsAre(4, 4, 4));
  }
  EXPECT_EQ(warnings(), 1u);
  EXPECT_THAT(said_.str(), HasSubstr(path("plain")));
}

TEST_F(TuningTest, AFolderThatCannotBeWrittenIsOneWarning) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(path("closed"));
  fs::permissions(path("closed"), fs::perms(0500));
  Fake fake(second_wins);
  EXPECT_EQ(Tuner(settings("closed/a.json")).choose(key, three, fake.measure()), 1);
  EXPECT_EQ(warnings(), 1u);
  EXPECT_THAT(said_.str(), HasSubstr("Permission denied"));
}

TEST_F(TuningTest, AFileThatCannotBeReadIsOneWarning) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  quadrille::write_file(path(), file_of({good_entry(key.problem)}).dump());
  fs::permissions(path(), fs::perms(0));
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  EXPECT_THAT(fake.calls(), ElementsAre(4, 4, 4));
  EXPECT_EQ(warnings(), 1u);
  EXPECT_THAT(said_.str(), HasSubstr("it cannot be read: Permission denied"));
}

TEST_F(TuningTest, WhatOtherProcessesWroteMeanwhileIsMerged) {
  Tuner first(settings()), second(settings());
  const auto tune = [](Tuner& tuner, const char* problem) {
    Fake fake(second_wins);
    EXPECT_EQ(tuner.choose({key.device, key.build, problem}, three, fake.measure()), 1);
    return fake.calls() != std::vector<int>(3, 0);
  };
  EXPECT_TRUE(tune(first, "a"));
  EXPECT_TRUE(tune(second, "b"));
  EXPECT_TRUE(tune(first, "c"));
  EXPECT_THAT(entries(), SizeIs(3));
  EXPECT_FALSE(tune(first, "b"));  // seen when c was written
  fs::remove(path());
  EXPECT_TRUE(tune(first, "d"));
  EXPECT_THAT(entries(), SizeIs(3));  // a, c and d: what it measured itself
}

TEST_F(TuningTest, WritersAtTheSameTimeNeverBreakTheFile) {
  constexpr int writers = 4, problems = 25;
  std::atomic<int> running{writers};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&, writer] {
      Tuner tuner(settings());
      for (int problem = 0; problem < problems; ++problem) {
        Fake fake(second_wins);
        tuner.choose({key.device, fmt::format("{}", writer), fmt::format("{}", problem)}, three, fake.measure());
      }
      --running;
    });
  }
  bool there = false;
  while (running > 0) {
    const std::string text = content(path());
    if (!text.empty() || there) {
      EXPECT_TRUE(json::accept(text)) << text;
      there = true;
    }
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  EXPECT_EQ(warnings(), 0u) << said_.str();
  std::vector<int> found(writers);
  for (const json& entry : entries()) ++found[std::stoul(entry.at("build").get<std::string>())];
  EXPECT_EQ(*std::max_element(found.begin(), found.end()), problems);  // the last to write lost nothing of its own
}

TEST_F(TuningTest, TheFileIsBoundedAndOldBuildsOfTheDeviceGoFirst) {
  json all = json::array();
  const auto add = [&all](const std::string& device, const std::string& build, std::size_t count, int year) {
    for (std::size_t i = 0; i < count; ++i) {
      json entry = good_entry(fmt::format("p{}", i));
      entry["device"] = device;
      entry["build"] = build;
      entry["when"] = fmt::format("{}-01-01T00:{:02}:{:02}Z", year, i / 60, i % 60);
      all.push_back(entry);
    }
  };
  const std::size_t most = TuningCache::most_entries;
  add(key.device, key.build, 100, 2000);  // older than all, but of this build
  add("device two", "build two", 100, 2001);
  add(key.device, "build zero", most - 200, 2002);
  add(key.device, "build three", 10, 2003);
  quadrille::write_file(path(), file_of(all).dump());
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);  // one more, 11 too many

  std::map<std::string, int> left;
  std::string oldest = "9";
  for (const json& entry : entries()) {
    ++left[entry.at("build").get<std::string>()];
    if (entry.at("build") == "build zero") oldest = std::min(oldest, entry.at("when").get<std::string>());
  }
  EXPECT_EQ(left[key.build], 101);
  EXPECT_EQ(left["build two"], 100);
  EXPECT_EQ(left["build zero"], int(most) - 200 - 11);
  EXPECT_EQ(left["build three"], 10);
  EXPECT_EQ(oldest, "2002-01-01T00:00:11Z");
  EXPECT_TRUE(remembered());
}

TEST_F(TuningTest, TheFileIsBoundedWithoutOldBuildsToo) {
  json all = json::array();
  for (std::size_t i = 0; i <= TuningCache::most_entries; ++i) {
    all.push_back(good_entry(fmt::format("p{}", i)));
    all.back()["when"] = i == 77 ? "1999" : "9999";  // the newest stays even among dates yet to come
  }
  quadrille::write_file(path(), file_of(all).dump());
  Fake fake(second_wins);
  EXPECT_EQ(chosen(fake), 1);
  EXPECT_THAT(entries(), SizeIs(TuningCache::most_entries));
  EXPECT_TRUE(remembered());
  EXPECT_FALSE(remembered({key.device, key.build, "p77"}));
}

}  // namespace
