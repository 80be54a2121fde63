// The file in which choices are kept, by any number of processes, and what is wrong with it.
#include "tests/core/tuning/tuning_testing.h"

#include "core/system/atomic_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace quadrille::testing;
using nlohmann::json;
using quadrille::Tuner;
using quadrille::TuningCache;
using quadrille::TuningKey;
using quadrille::TuningSettings;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

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
