// The output folder of a job: what a run keeps in it, what it may replace and what it refuses.
#include "input/run/output_folder.h"
#include "input/run/json_changes.h"

#include "core/error.h"
#include "input/run/outputs.h"
#include "tests/input/files/lime_testing.h"
#include "tests/testing/file_size_limit.h"

#include <functional>
#include <limits>
#include <tuple>

#include <sys/stat.h>
#include <unistd.h>

namespace quadrille {
namespace {

namespace fs = std::filesystem;
using testing::FileSizeLimit;
using ::testing::HasSubstr;
using testing::LogCapture;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;
using Json = nlohmann::ordered_json;

const Json some_job = {{"kappa", 0.1}};

/// What an error says; empty where there is none.
std::string said_by(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TaskRecord record_with(const std::string& file) {
  TaskRecord record;
  record.key = "k";
  record.files = {file};
  return record;
}

TEST(OutputFolder, FirstDifferenceIsNamed) {
  const Json a = Json::parse(R"({"operator": {"kappa": 0.1}, "run": [{"site": [0, 1]}]})");
  EXPECT_EQ(first_difference(a, a), "");
  Json b = a;
  b["operator"]["kappa"] = 0.2;
  EXPECT_EQ(first_difference(a, b), "operator.kappa is 0.1 there but 0.2 here");
  b = a;
  b["run"][0]["site"][1] = 3;
  EXPECT_EQ(first_difference(a, b), "run[0].site[1] is 1 there but 3 here");
  b = a;
  b["run"].push_back(5);
  EXPECT_EQ(first_difference(a, b), "run[1] is absent there but 5 here");
  b = a;
  b["operator"]["mass"] = 1;
  EXPECT_EQ(first_difference(a, b), "operator.mass is absent there but 1 here");
  EXPECT_EQ(first_difference(b, a), "operator.mass is 1 there but absent here");
}

TEST(OutputFolder, NumbersThatAreNotFiniteBecomeNullAndAreNamed) {
  Json value = {{"a", {1.5, std::numeric_limits<double>::quiet_NaN()}},
                {"b", {{"c", std::numeric_limits<double>::infinity()}}}};
  const auto found = remove_not_finite(value);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0], HasSubstr("a[1] is nan"));
  EXPECT_THAT(found[1], HasSubstr("b.c is inf"));
  EXPECT_EQ(value.dump(), R"({"a":[1.5,null],"b":{"c":null}})");
}

TEST(OutputFolder, WarningsOfNumbersThatAreNotFiniteOutliveARestart) {
  const TemporaryFolder folder;
  const Json job = {{"kappa", 0.1}};
  TaskRecord record;
  record.key = "k1";
  record.warnings = {"first"};
  record.solves = {{{"converged", false}, {"residual", std::numeric_limits<double>::quiet_NaN()}}};
  record.correlators = {{"pion", {1.5, std::numeric_limits<double>::infinity()}}};
  OutputFolder(folder.file("out"), job, {}).finish("p", record);
  const OutputFolder again(folder.file("out"), job, {});
  const TaskRecord& kept = again.records().at("p");
  EXPECT_EQ(kept.solves.dump(), R"([{"converged":false,"residual":null}])");
  EXPECT_EQ(kept.correlators.dump(), R"({"pion":[1.5,null]})");
  ASSERT_EQ(kept.warnings.size(), 3u);
  EXPECT_EQ(kept.warnings[0], "first");
  EXPECT_THAT(kept.warnings[1], HasSubstr("solves[0].residual is nan"));
  EXPECT_THAT(kept.warnings[2], HasSubstr("correlators.pion[1] is inf"));
}

TEST(OutputFolder, RemembersFinishedTasksOfTheSameJobOnly) {
  const TemporaryFolder folder;
  const Json job = {{"kappa", 0.1}};
  {
    OutputFolder first(folder.file("out"), job, {});
    TaskRecord record;
    record.key = "k1";
    record.files = {"p.lime"};
    record.correlators = {{"pion", {1.0 / 3, 2}}};
    write_bytes(first.path("p.lime").string(), "x");
    first.finish("p", record);
  }
  {
    const OutputFolder again(folder.file("out"), job, {});
    ASSERT_NE(again.finished("p", "k1"), nullptr);
    EXPECT_EQ(again.finished("p", "k1")->correlators["pion"][0], 1.0 / 3) << "numbers read back exactly";
    EXPECT_EQ(again.finished("p", "k2"), nullptr);
    EXPECT_EQ(again.finished("q", "k1"), nullptr);
  }
  EXPECT_EQ(OutputFolder(folder.file("out"), job, {.force = true}).finished("p", "k1"), nullptr) << "--force forgets";

  const auto message = [&](const Json& other) {
    try {
      OutputFolder(folder.file("out"), other, {});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message({{"kappa", 0.2}}), HasSubstr("another job: kappa is 0.1 there but 0.2 here"));
  write_bytes(folder.file("out/restart.json"), "{\"schema_version\": 1,");
  EXPECT_THAT(message(job), HasSubstr("damaged"));
  std::filesystem::remove(folder.file("out/restart.json"));
  EXPECT_EQ(message(job), "");
  write_bytes(folder.file("out/results.json"), "{}");
  EXPECT_THAT(message(job), HasSubstr("cannot be continued"));
}

TEST(OutputFolder, NumbersThatExtendMayGrow) {
  const TemporaryFolder folder;
  const auto job = [](int count, double beta) { return Json{{"run", {{{"count", count}, {"beta", beta}}}}}; };
  const std::vector<std::string> grows = {"/run/0/count"};
  {
    OutputFolder first(folder.file("out"), job(2, 6), {}, single_process(), grows);
    first.keep_unfinished(
        "p", "k",
        {{"isa", "avx2"}, {"threads", 2}, {"so_far", {{"parts", {{"links", {{"file", "p.finished.1.links.lime"}}}}}}}});
    TaskRecord record;
    record.key = "k";
    first.finish("p", record, true);
    for (const char* file : {"p.finished.0.links.lime", "p.finished.1.links.lime"}) first.write(file, "x");
    first.remove_beginning({"p.unfinished.", "p.finished."});
    EXPECT_FALSE(fs::exists(first.path("p.finished.0.links.lime")));
    EXPECT_TRUE(fs::exists(first.path("p.finished.1.links.lime"))) << "the chain goes on from here";
  }
  const auto message = [&](const Json& other) {
    try {
      const OutputFolder again(folder.file("out"), other, {}, single_process(), grows);
      return again.unfinished("p", "k").is_null() ? std::string("its state is gone") : std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message(job(2, 6)), "");
  EXPECT_EQ(message(job(4, 6)), "");
  EXPECT_THAT(message(job(1, 6)), HasSubstr("another job: run[0].count is 2 there but 1 here"));
  EXPECT_THAT(message(job(4, 5)), HasSubstr("another job: run[0].beta is 6.0 there but 5.0 here"));
  OutputFolder(folder.file("out"), job(2, 6), {.force = true}).begin();
  EXPECT_FALSE(fs::exists(folder.file("out/p.finished.1.links.lime"))) << "--force";
}

TEST(OutputFolder, OneRunAtATime) {
  const TemporaryFolder folder;
  const Json job = {{"kappa", 0.1}};
  {
    const OutputFolder first(folder.file("out"), job, {});
    for (const bool force : {false, true}) {
      try {
        const OutputFolder second(folder.file("out"), job, {.force = force});
        FAIL() << "two runs in one folder";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another run is using this folder (process " + std::to_string(getpid())));
      }
    }
    const OutputFolder elsewhere(folder.file("out2"), job, {});
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("out/.lock")));
  write_bytes(folder.file("out/.lock"), "process 1 on a host that died");
  EXPECT_NO_THROW(OutputFolder(folder.file("out"), job, {})) << "a leftover locks nothing";
}

TEST(OutputFolder, ADamagedRestartFileIsNamedWithTheWayOut) {
  const TemporaryFolder folder;
  const Json job = {{"kappa", 0.1}};
  {
    OutputFolder first(folder.file("out"), job, {});
    TaskRecord record;
    record.key = "k";
    record.solves = {{{"converged", true}}};
    first.finish("q", record);
    first.keep_unfinished("r", "k", {{"isa", "avx2"}, {"threads", 2}, {"so_far", {{"done", 3}}}});
  }
  const std::string file = folder.file("out/restart.json");
  const Json good = Json::parse(testing::read_bytes(file));
  const auto expect_refused = [&](const std::string& text, const std::string& said) {
    write_bytes(file, text);
    try {
      const OutputFolder again(folder.file("out"), job, {});
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file + ": damaged: ")) << text;
      EXPECT_THAT(error.what(), HasSubstr(said));
      EXPECT_THAT(error.what(), HasSubstr("choose another --out, or use --force to start from scratch"));
    }
    EXPECT_NO_THROW(OutputFolder(folder.file("out"), job, {.force = true}));
  };
  write_bytes(file, good.dump());
  EXPECT_NO_THROW(OutputFolder(folder.file("out"), job, {}));
  expect_refused(good.dump().substr(0, 50), "this is not JSON");
  expect_refused("[1]", "this is not JSON");
  expect_refused("{}", "'schema_version' is missing");
  for (const auto& [place, value, said] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"/unfinished", 3, "'unfinished' must be a map"},
           {"/tasks", nullptr, "'tasks' must be a map"},
           {"/tasks/q", 5, "'tasks.q.key' is missing"},
           {"/tasks/q/solves", {1}, "'tasks.q.solves' must be a list of solves"},
           {"/tasks/q/threads", -1, "'tasks.q.threads' must be a whole number"},
           {"/tasks/q/files", {1}, "'tasks.q.files' must be a list of names"},
           {"/written", nullptr, "'written' must be a map"},
           {"/timing/total", -1, "'timing.total' must be a number that is not negative"},
           {"/unfinished/r", "x", "'unfinished.r.key' is missing"},
           {"/unfinished/r/so_far", Json::object(), "'unfinished.r.so_far.isa' is missing"},
           {"/unfinished/r/so_far/so_far", 1, "'unfinished.r.so_far.so_far' must be a map or a list"}}) {
    Json bad = good;
    bad[Json::json_pointer(place)] = value;
    expect_refused(bad.dump(), said);
  }
}

// ln -s ../prec out/.lock
TEST(OutputFolder, ALockThatIsSomebodyElsesFileIsRefusedAndStays) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("out"));
  write_bytes(folder.file("precious"), "precious");
  const auto expect_refused = [&](const std::string& why) {
    EXPECT_THAT(said_by([&] { OutputFolder(folder.file("out"), some_job, {.force = true}); }), HasSubstr(why));
    EXPECT_EQ(read_bytes(folder.file("precious")), "precious");
    fs::remove(folder.file("out/.lock"));
  };
  fs::create_symlink("../precious", folder.file("out/.lock"));
  expect_refused("it is a symbolic link");
  fs::create_hard_link(folder.file("precious"), folder.file("out/.lock"));
  expect_refused("it has another name, too (a hard link)");
  ASSERT_EQ(::mkfifo(folder.file("out/.lock").c_str(), 0600), 0);
  expect_refused("it is not a regular file");
  write_bytes(folder.file("out/.lock"), "precious");
  EXPECT_THAT(said_by([&] { OutputFolder(folder.file("out"), some_job, {}); }), HasSubstr("another program wrote it"));
  EXPECT_EQ(read_bytes(folder.file("out/.lock")), "precious");
}

// Opening a pipe waits for a writer, which may never come.
TEST(OutputFolder, APipeInThePlaceOfAFileIsRefused) {
  for (const char* name : {"restart.json", "results.json"}) {
    const TemporaryFolder folder;
    fs::create_directories(folder.file("out"));
    ASSERT_EQ(::mkfifo(folder.file(std::string("out/") + name).c_str(), 0600), 0);
    for (const bool force : {false, true}) {
      EXPECT_THAT(said_by([&] { OutputFolder(folder.file("out"), some_job, {.force = force}); }),
                  HasSubstr(std::string(name) + ": this is not a regular file"));
    }
  }
}

TEST(OutputFolder, RestartJsonThatIsALinkAndForeignResultsAreRefused) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("out"));
  write_bytes(folder.file("precious"), "precious");
  fs::create_symlink("../precious", folder.file("out/restart.json"));
  const auto said = [&] {
    return said_by([&] { OutputFolder(folder.file("out"), some_job, {.force = true}).begin(); });
  };
  EXPECT_THAT(said(), HasSubstr("this is a symbolic link"));
  fs::remove(folder.file("out/restart.json"));
  write_bytes(folder.file("out/results.json"), "{\"mine\": 1}");
  EXPECT_THAT(said(), HasSubstr("this file is not one of Quadrille's"));
  write_bytes(folder.file("out/results.json"), "{\"schema_version\": 1}");
  EXPECT_EQ(said(), "") << "those of an earlier run";
  EXPECT_EQ(read_bytes(folder.file("precious")), "precious");
}

TEST(OutputFolder, AFileThatItsRecordsDoNotNameIsNeverAnOutput) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("out"));
  write_bytes(folder.file("out/p.lime"), "precious");
  for (const bool force : {false, true}) {
    OutputFolder out(folder.file("out"), some_job, {.force = force});
    out.begin();
    EXPECT_THAT(said_by([&] { (void)out.output("p.lime"); }),
                HasSubstr("it was not written by an earlier run in this folder"));
    EXPECT_EQ(read_bytes(folder.file("out/p.lime")), "precious");
    out.write_output("q.lime", "ours");
  }
  OutputFolder again(folder.file("out"), some_job, {});
  EXPECT_EQ(again.problem_of_output("q.lime"), "");
  again.write_output("q.lime", "ours again");
  EXPECT_EQ(read_bytes(folder.file("out/q.lime")), "ours again");
}

TEST(OutputFolder, ForceRemovesWhatTheEarlierRunWroteAndNothingElse) {
  const TemporaryFolder folder;
  {
    OutputFolder out(folder.file("out"), some_job, {});
    out.begin();
    for (const char* name : {"b_1.lime", "sub/b_2.lime", "input.lime", "../outside.lime"})
      out.write_output(name, "ours");
    out.write("t.unfinished.0.state", "ours");
  }
  write_bytes(folder.file("out/notes"), "precious");
  const LogCapture log;
  OutputFolder out(folder.file("out"), {{"kappa", 0.2}}, {.force = true});
  EXPECT_TRUE(fs::exists(folder.file("out/b_1.lime"))) << "the job may still be found wrong";
  out.begin({one_spelling(folder.file("out/input.lime"))});
  for (const char* gone : {"out/b_1.lime", "out/sub/b_2.lime", "out/t.unfinished.0.state"}) {
    EXPECT_FALSE(fs::exists(folder.file(gone))) << gone;
  }
  for (const char* kept : {"out/notes", "out/input.lime", "outside.lime"}) {
    EXPECT_TRUE(fs::exists(folder.file(kept))) << kept;
  }
  EXPECT_THAT(log.text(), HasSubstr("--force: 3 files of the earlier run removed"));
  EXPECT_EQ(out.problem_of_output("../outside.lime"), "") << "it is still known";
}

// mkdir out; ln -s ../scratch/p.lime out/p.lime
TEST(OutputFolder, ALinkThatTheUserMadeForAnOutputStaysAndIsWrittenThroughWithForceToo) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("out"));
  fs::create_symlink("../scratch/p.lime", folder.file("out/p.lime"));
  for (const char* text : {"first", "second"}) {
    OutputFolder out(folder.file("out"), some_job, {.force = true});
    EXPECT_EQ(out.problem_of_output("p.lime"), "");
    out.begin();
    EXPECT_EQ(said_by([&] { out.write_output("p.lime", text); }), "");
    EXPECT_TRUE(fs::is_symlink(folder.file("out/p.lime")));
    EXPECT_EQ(read_bytes(folder.file("scratch/p.lime")), text);
  }
  EXPECT_EQ(OutputFolder(folder.file("out"), some_job, {}).problem_of_output("p.lime"), "");
}

TEST(OutputFolder, AnOutputIsTheSameFileHoweverItIsSpelled) {
  const TemporaryFolder folder;
  {
    OutputFolder out(folder.file("out"), some_job, {});
    out.begin();
    out.write_output("./sub//p.lime", "contents");
    out.finish("p", record_with("sub/p.lime"));
  }
  const Json written = Json::parse(read_bytes(folder.file("out/restart.json")))["written"];
  EXPECT_EQ(written.size(), 1u) << written;
  EXPECT_TRUE(written["sub/p.lime"].contains("checksum")) << written;
  {
    OutputFolder again(folder.file("out"), some_job, {});
    for (const char* name : {"sub/p.lime", "./sub/p.lime", "sub/./p.lime"})
      EXPECT_EQ(again.problem_of_output(name), "");
    write_bytes(folder.file("out/sub/p.lime"), "garbage!");
    std::string why;
    EXPECT_EQ(again.verified("p", "k", why), nullptr);
  }
  OutputFolder(folder.file("out"), some_job, {.force = true}).begin();
  EXPECT_FALSE(fs::exists(folder.file("out/sub/p.lime")));
}

// link/../p.lime is elsewhere/../p.lime, and not out/p.lime.
TEST(OutputFolder, ANameThatGoesUpThroughALinkIsAnotherFile) {
  const TemporaryFolder folder;
  for (const char* made : {"out", "elsewhere/inner"}) fs::create_directories(folder.file(made));
  fs::create_directory_symlink("../elsewhere/inner", folder.file("out/link"));
  OutputFolder out(folder.file("out"), some_job, {});
  out.begin();
  out.write_output("link/../p.lime", "ours");
  EXPECT_EQ(read_bytes(folder.file("elsewhere/p.lime")), "ours");
  write_bytes(folder.file("out/p.lime"), "precious");
  EXPECT_THAT(out.problem_of_output("p.lime"), HasSubstr("it was not written by an earlier run in this folder"));
}

TEST(OutputFolder, OutputsThatLeaveItAreRefusedWhenConfined) {
  const TemporaryFolder folder;
  fs::create_directories(folder.file("elsewhere"));
  fs::create_directories(folder.file("out"));
  fs::create_directory_symlink("../elsewhere", folder.file("out/link"));
  fs::create_symlink("../elsewhere/target", folder.file("out/p.lime"));
  OutputFolder confined(folder.file("out"), some_job, {.confine = true});
  for (const auto& [name, why] :
       std::vector<std::pair<std::string, std::string>>{{"../a", "this path leaves it"},
                                                        {"a/../../b", "this path leaves it"},
                                                        {folder.file("out/a"), "this path is absolute"},
                                                        {"link/a", "link is a symbolic link"},
                                                        {"link/../a", "link is a symbolic link"},
                                                        {"p.lime", "p.lime is a symbolic link"}}) {
    EXPECT_THAT(confined.problem_of_output(name), HasSubstr(why)) << name;
    EXPECT_THAT(said_by([&] { (void)confined.output(name); }), HasSubstr("--confine: ")) << name;
  }
  for (const char* good : {"a", "./a", "a/b", "a/../b", "a/..b"})
    EXPECT_EQ(confined.problem_of_output(good), "") << good;
}

TEST(OutputFolder, AFileOfAFinishedTaskThatHasChangedMakesItUnfinished) {
  for (const auto& [change, said] : std::vector<std::pair<std::function<void(const std::string&)>, std::string>>{
           {[](const std::string& file) { fs::remove(file); }, "p.lime is missing"},
           {[](const std::string& file) { write_bytes(file, "garbage!"); }, "p.lime has changed since it was written"},
           {[](const std::string& file) { write_bytes(file, "short"); }, "p.lime has changed since it was written"}}) {
    const TemporaryFolder folder;
    {
      OutputFolder out(folder.file("out"), some_job, {});
      out.begin();
      out.write_output("p.lime", "contents");
      out.keep_unfinished("p", "k", {{"isa", "avx2"}, {"threads", 2}, {"so_far", Json::object()}});
      out.finish("p", record_with("p.lime"), true);
    }
    std::string why;
    EXPECT_NE(OutputFolder(folder.file("out"), some_job, {}).verified("p", "k", why), nullptr);
    change(folder.file("out/p.lime"));
    OutputFolder out(folder.file("out"), some_job, {});
    EXPECT_EQ(out.verified("p", "k", why), nullptr);
    EXPECT_EQ(why, said);
    EXPECT_EQ(out.finished("p", "k"), nullptr);
    EXPECT_FALSE(out.has_unfinished("p")) << "the state of its end goes on from what is lost";
  }
}

TEST(OutputFolder, AFolderThatIsRemovedMeanwhileIsAnErrorAtTheNextWriteAndAtTheEnd) {
  const TemporaryFolder folder;
  for (const bool made_again : {false, true}) {
    OutputFolder out(folder.file("out"), some_job, {});
    out.begin();
    out.write_output("p.lime", "ours");
    fs::remove_all(folder.file("out"));
    if (made_again) fs::create_directories(folder.file("out"));
    for (const std::function<void()>& write : std::vector<std::function<void()>>{
             [&] { out.write_output("q.lime", "ours"); }, [&] { out.finish("p", record_with("p.lime")); },
             [&] { out.write_results({}); }, [&] { out.end(); }}) {
      EXPECT_THAT(said_by(write), HasSubstr("the output folder was removed or replaced"));
    }
  }
  OutputFolder out(folder.file("out"), some_job, {});
  out.begin();
  out.write_output("p.lime", "ours");
  out.finish("p", record_with("p.lime"));
  EXPECT_NO_THROW(out.end());
  fs::remove(folder.file("out/p.lime"));  // rm out/* leaves the lock
  EXPECT_THAT(said_by([&] { out.end(); }), HasSubstr("an output of p was removed or changed during this run: p.lime"));
}

/// The state of a job with `count` tasks of about 1 KiB each.
Json big_state(int count) {
  Json state = {{"schema_version", 1}, {"tasks", Json::object()}};
  for (int k = 0; k < count; ++k) state["tasks"][std::to_string(k)] = std::string(1024, 'x');
  return state;
}

// Nothing but bytes is counted here: writing the whole with each change would need the square of their number.
TEST(RestartFile, ChangesOfALargeFileAreAppendedAndReadBack) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("restart.json");
  Json state = big_state(300);
  RestartFile file(path);
  file.write(state);
  int whole = 0;
  for (int k = 300; k < 500; ++k) {
    const Json change = {{"tasks", {{std::to_string(k), std::string(1024, 'y')}, {std::to_string(k - 300), nullptr}}}};
    state["tasks"].erase(std::to_string(k - 300));
    state["tasks"][std::to_string(k)] = std::string(1024, 'y');
    file.change(change, [&] {
      ++whole;
      return state;
    });
    if (k % 49 == 0) {
      EXPECT_EQ(RestartFile(path).read(), state) << k;
    }
  }
  EXPECT_LE(whole, 1);
  EXPECT_EQ(RestartFile(path).read(), state);
}

TEST(RestartFile, AChangeThatWasCutOffIsLeftOutAndOneInTheMiddleIsDamage) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("restart.json");
  const Json state = big_state(300);
  RestartFile file(path);
  file.write(state);
  const std::string before = read_bytes(path.string());
  const auto state_now = [&] { return state; };
  file.change({{"tasks", {{"a", 1}}}}, state_now);
  const std::string first = read_bytes(path.string());
  file.change({{"tasks", {{"b", 2}}}}, state_now);
  const std::string second = read_bytes(path.string());
  for (std::size_t end = first.size(); end < second.size(); ++end) {
    write_bytes(path.string(), second.substr(0, end));
    const Json read = RestartFile(path).read();
    EXPECT_EQ(read["tasks"].value("a", 0), 1);
    EXPECT_FALSE(read["tasks"].contains("b"));
  }
  write_bytes(path.string(), before + "{\"tasks\": {\"a\n" + second.substr(first.size()));
  EXPECT_TRUE(RestartFile(path).read().is_null());
}

TEST(RestartFile, AFullDiskLeavesItAsItWas) {
  const TemporaryFolder folder;
  const fs::path path = folder.file("restart.json");
  const Json state = big_state(300);
  RestartFile file(path);
  file.write(state);
  const std::string before = read_bytes(path.string());
  {
    const FileSizeLimit full(before.size() + 10);
    EXPECT_THAT(said_by([&] {
                  file.change({{"tasks", {{"a", "0123456789"}}}}, [&] { return state; });
                }),
                HasSubstr("restart.json: writing failed"));
  }
  EXPECT_EQ(read_bytes(path.string()), before);
}

}  // namespace
}  // namespace quadrille
