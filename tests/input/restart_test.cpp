// Jobs that are run again: what is done, what is not, and what --force and --confine do.
#include "input/commands/program.h"
#include "input/run/job_run.h"
#include "input/run/run.h"

#include "tests/input/files/lime_testing.h"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <omp.h>
#include <sys/stat.h>

namespace quadrille {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::LogCapture;
using ::testing::Not;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;
using Json = nlohmann::json;

const std::string lattice = "gauge: {start: weak, dims: [4, 2, 2, 4], seed: 5, epsilon: 0.3}\n";
const std::string solves =
    lattice + R"(operator: {type: wilson, mass: 0.3, boundary: [periodic, periodic, periodic, antiperiodic]}
solver: {type: bicgstab, tolerance: 1e-9}
run:
  - {task: propagator, source: {type: point, site: [1, 0, 1, 2]}, save: {file: p.lime, precision: double}}
  - {task: mesons, from: propagator}
)";
const std::string chain = lattice + R"(run:
  - {task: generate, beta: 6.0, thermalization: 1, configurations: 4, overrelaxation: 1, save: "b_###.lime"}
)";

class RestartTest : public ::testing::Test {
 protected:
  int run(const std::string& job, const std::vector<std::string>& more = {}) {
    write_bytes(folder_.file("job.yaml"), job);
    std::vector<std::string> words = {"run", folder_.file("job.yaml")};
    words.insert(words.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const int status = run_program(words, out, err);
    err_ = err.str();
    return status;
  }
  std::string output(const std::string& name) const { return folder_.file("job.out/" + name); }
  Json results() const { return Json::parse(read_bytes(output("results.json"))); }
  std::set<std::string> outputs() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(output(""))) names.insert(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  std::string err_;
};

TEST_F(RestartTest, ForceLeavesNoConfigurationsOfAnotherBeta) {
  ASSERT_EQ(run(chain), 0) << err_;
  EXPECT_EQ(outputs().count("b_005.lime"), 1u);
  write_bytes(output("notes"), "precious");
  const LogCapture log;
  ASSERT_EQ(run(chain, {"--set", "run[0].beta=5.9", "--set", "run[0].configurations=2", "--force"}), 0) << err_;
  EXPECT_EQ(outputs(), (std::set<std::string>{"b_002.lime", "b_003.lime", "generate.finished.1.state", "notes",
                                              "restart.json", "results.json"}));
  EXPECT_THAT(log.text(), HasSubstr("--force: 5 files of the earlier run removed"));
}

TEST_F(RestartTest, AForeignFileIsRefusedBeforeAnyWork) {
  fs::create_directories(output(""));
  for (const auto& [job, name] : {std::pair(solves, "p.lime"), std::pair(chain, "b_004.lime")}) {
    write_bytes(output(name), "precious");
    for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{{}, {"--force"}}) {
      EXPECT_EQ(run(job, more), 1);
      EXPECT_THAT(err_, ContainsRegex("job.yaml:[0-9]+:[0-9]+: '" + output(name) + "': a file of that name exists"));
      EXPECT_EQ(read_bytes(output(name)), "precious");
      EXPECT_FALSE(fs::exists(output("restart.json")));
    }
    fs::remove(output(name));
    EXPECT_EQ(run(job), 0) << err_;
    EXPECT_EQ(run(job, {"--force"}), 0) << err_;
    fs::remove_all(output(""));
    fs::create_directories(output(""));
  }
}

TEST_F(RestartTest, ConfinedOutputsStayInTheFolder) {
  for (const std::string& name : {std::string("../p.lime"), folder_.file("p.lime")}) {
    EXPECT_EQ(run(solves, {"--confine", "--set", "run[0].save.file=" + name}), 1);
    EXPECT_THAT(err_, HasSubstr("--confine: an output must be in the output folder"));
    EXPECT_FALSE(fs::exists(output("restart.json")));
  }
  EXPECT_FALSE(fs::exists(folder_.file("p.lime")));
  EXPECT_EQ(run(solves, {"--confine"}), 0) << err_;
}

TEST_F(RestartTest, ADamagedOutputIsMadeAgainAndSaid) {
  ASSERT_EQ(run(solves), 0) << err_;
  const Json first = results();
  std::string bytes = read_bytes(output("p.lime"));
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(output("p.lime"), bytes);
  const LogCapture log;
  ASSERT_EQ(run(solves), 0) << err_;
  EXPECT_THAT(log.text(), HasSubstr("propagator: done again, as p.lime has changed since it was written"));
  EXPECT_THAT(log.text(), HasSubstr("mesons: already done, skipped"));
  EXPECT_NE(read_bytes(output("p.lime")), bytes);
  EXPECT_EQ(results()["correlators"], first["correlators"]);
}

TEST_F(RestartTest, SavedLinksAreKnownByTheirChecksum) {
  const std::vector<std::string> save = {"--set", "gauge.save=./links.lime"};
  ASSERT_EQ(run(chain, save), 0) << err_;
  const Json written = Json::parse(read_bytes(output("restart.json")))["written"];
  ASSERT_TRUE(written.contains("links.lime")) << written;
  EXPECT_EQ(written["links.lime"].value("size", 0u), fs::file_size(output("links.lime")));
  EXPECT_TRUE(written["links.lime"].contains("checksum"));
  ASSERT_EQ(run(chain, {"--force"}), 0) << err_;
  EXPECT_FALSE(fs::exists(output("links.lime")));
}

TEST_F(RestartTest, OutputsMayGoToADevice) {
  for (const char* name : {"gauge.save", "run[0].save.file"}) {
    EXPECT_EQ(run(solves, {"--set", std::string(name) + "=/dev/null", "--force"}), 0) << err_;
  }
}

// What a task throws is damage of restart.json only where it has used what was read from there.
TEST_F(RestartTest, OnlyARunThatContinuesBlamesTheStateForAFailure) {
  write_bytes(folder_.file("job.yaml"), chain);
  std::vector<Error> errors;
  Job job = read_job(folder_.file("job.yaml"), {}, errors);
  ASSERT_TRUE(errors.empty());
  TaskEntry entry = *job.run[0].entry;
  job.run[0].entry = &entry;
  const auto failure = [&](int threads, decltype(TaskEntry::run) task) -> std::string {
    entry.run = task;
    omp_set_num_threads(threads);
    JobClock clock;
    try {
      carry_out(job, output(""), {}, cpu_backend(), {}, clock, errors);
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  };
  const int before = omp_get_max_threads();
  const std::string damage = "'unfinished.generate' is not a state of this task";
  failure(1, [](JobRun& work, const TaskSpec& task) {
    work.keep_unfinished(task, {{"done", "much"}});
    throw std::runtime_error("interrupted");
  });
  const auto use = [](JobRun& work, const TaskSpec& task) { (void)work.unfinished(task).at("done").get<int>(); };
  EXPECT_THAT(failure(1, use), HasSubstr(damage));
  EXPECT_THAT(failure(2, use), Not(HasSubstr(damage))) << "with other threads it starts over";
  const auto discard = [](JobRun& work, const TaskSpec& task) {
    (void)work.unfinished(task);
    work.start_over(task, "the state cannot be read");
    (void)Json::array().at(0);
  };
  EXPECT_THAT(failure(1, discard), Not(HasSubstr(damage)));
  omp_set_num_threads(before);
}

TEST_F(RestartTest, TimesOfAllRunsAreSummed) {
  std::string said;
  {
    const LogCapture log;
    ASSERT_EQ(run(solves), 0) << err_;
    said = log.text();
  }
  EXPECT_THAT(said, ContainsRegex("total [0-9.]+ s, solves [0-9.]+ s\n$"));
  EXPECT_THAT(said, Not(HasSubstr("this run")));
  const Json first = results()["timing"];
  EXPECT_EQ(first["runs"], 1);
  const LogCapture log;
  ASSERT_EQ(run(solves), 0) << err_;
  EXPECT_THAT(log.text(), HasSubstr("propagator: already done, skipped"));
  EXPECT_THAT(log.text(), ContainsRegex("this run: total [0-9.]+ s; all 2 runs: total [0-9.]+ s, solves [0-9.]+ s\n$"));
  const Json second = results()["timing"];
  EXPECT_EQ(second["runs"], 2);
  EXPECT_EQ(second["solves"], first["solves"]);
  EXPECT_EQ(second["contractions"], first["contractions"]);
  EXPECT_GT(second["total"], first["total"]);
}

TEST_F(RestartTest, NothingIsSaidOfSolvesWhereNothingIsSolved) {
  const LogCapture log;
  ASSERT_EQ(run(chain), 0) << err_;
  EXPECT_THAT(log.text(), ContainsRegex("total [0-9.]+ s\n$"));
}

TEST_F(RestartTest, ManyTasksAreKeptInOneFileThatReadersKnow) {
  std::string job = solves.substr(0, solves.find("  - {task: mesons"));
  for (int k = 0; k < 20; ++k) job += "  - {task: mesons, name: m" + std::to_string(k) + ", from: propagator}\n";
  ASSERT_EQ(run(job), 0) << err_;
  EXPECT_EQ(Json::parse(read_bytes(output("restart.json")))["tasks"].size(), 21u) << "one JSON value";
  EXPECT_EQ(results()["correlators"].size(), 20u);
  const LogCapture log;
  ASSERT_EQ(run(job), 0) << err_;
  EXPECT_THAT(log.text(), HasSubstr("m19: already done, skipped"));
}

TEST_F(RestartTest, APipeIsNoJob) {
  ASSERT_EQ(::mkfifo(folder_.file("pipe").c_str(), 0600), 0);
  for (const char* command : {"run", "check"}) {
    std::ostringstream out, err;
    EXPECT_EQ(run_program({command, folder_.file("pipe")}, out, err), 1);
    EXPECT_THAT(err.str(), HasSubstr("pipe: is not a regular file; give a job file, or /dev/stdin"));
  }
}

TEST_F(RestartTest, AnUnknownTransportIsAnErrorOnOneRankToo) {
  ::setenv("QUADRILLE_TRANSPORT", "pigeon", 1);
  EXPECT_EQ(run(chain), 1);
  ::unsetenv("QUADRILLE_TRANSPORT");
  EXPECT_THAT(err_, HasSubstr("QUADRILLE_TRANSPORT: unknown transport 'pigeon'; the transports are peer, "));
  EXPECT_FALSE(fs::exists(output("")));
}

}  // namespace
}  // namespace quadrille
