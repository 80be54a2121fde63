// The tasks md_run and md_forces as the program checks and runs them.
#include "input/commands/program.h"
#include "tests/testing/file_size_limit.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace quadrille {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class MdTasks : public ::testing::Test {
 protected:
  /// What `quadrille check` and `run` say on standard error.
  std::string check(const std::string& task) { return call(task, {"check"}); }
  std::string run(const std::string& task) {
    return call(task, {"run", "--out", folder_.file("out"), "--force", "--backend", "cpu"});
  }
  nlohmann::json dynamics() const {
    nlohmann::json results;
    std::ifstream(folder_.file("out/results.json")) >> results;
    return results["dynamics"]["md_run"];
  }

  testing::TemporaryFolder folder_;

 private:
  std::string call(const std::string& task, std::vector<std::string> words) {
    std::ofstream(folder_.file("job.yaml")) << "run: [{" << task << "}]\n";
    words.insert(words.begin() + 1, folder_.file("job.yaml"));
    std::ostringstream out, err;
    const int status = run_program(words, out, err);
    EXPECT_EQ(status == 0, err.str().empty()) << err.str();
    return err.str();
  }
};

// What can be known without the files of a system is known before the run.
TEST_F(MdTasks, ImpossibleSystemsAreFoundByCheck) {
  for (const char* task : {"md_run", "md_forces"}) {
    const std::string begin = std::string("task: ") + task + ", system: ";
    EXPECT_THAT(check(begin + "{source: fcc, particles: 1000}"),
                AllOf(HasSubstr("job.yaml:1:"), HasSubstr("4 n^3 particles, not 1000: use 864 or 1372")));
    EXPECT_THAT(check(begin + "{source: fcc, particles: 3}"), HasSubstr("4 n^3 particles, not 3: use 4"));
    EXPECT_THAT(
        check(begin + "{source: random, particles: 1000}, cutoff: 6"),
        AllOf(HasSubstr("job.yaml:1:"), HasSubstr("edges of 10.58"), HasSubstr("at least twice the cutoff, 12")));
    EXPECT_THAT(check(begin + "{source: random}, coulomb: plain"), HasSubstr("the source random have no charges"));
    EXPECT_EQ(check(begin + "{source: fcc, particles: 864}"), "");
    EXPECT_EQ(check(begin + "{source: random, particles: 1000}, cutoff: 5.2"), "");
  }
  EXPECT_THAT(check("task: md_run, system: {source: fcc, particles: 864}, velocities: file"),
              HasSubstr("the source fcc have no velocities"));
}

TEST_F(MdTasks, OpenSpaceIsRefusedByName) {
  std::ofstream(folder_.file("a.lmp")) << "t\n\n1 atoms\n1 atom types\n\nPair Coeffs\n\n1 1 1\n\nAtoms\n\n1 1 0 0 0\n";
  const std::string system = "system: {source: lammps, data: a.lmp}, cutoff: 3";
  for (const char* task : {"task: md_run, ", "task: md_forces, "})
    EXPECT_THAT(run(task + system), AllOf(HasSubstr("the system has no box"), HasSubstr("edges of at least 6"),
                                          HasSubstr("open space is possible only without a cutoff, in md_forces")));
}

TEST_F(MdTasks, ADriftOfFewRowsHasNoError) {
  const std::string task = "task: md_run, system: {source: fcc, particles: 256}, every: 2, steps: ";
  const struct {
    const char* steps;
    bool drift, error;
  } cases[] = {{"0", false, false}, {"2", true, false}, {"4", true, false}, {"6", true, true}};
  for (const auto& one : cases) {
    EXPECT_EQ(run(task + one.steps), "");
    const nlohmann::json found = dynamics();
    EXPECT_EQ(found["energy_drift"].is_number(), one.drift) << one.steps;
    EXPECT_EQ(found["energy_drift_error"].is_number(), one.error) << one.steps;
    EXPECT_EQ(found["energy_fluctuation"].is_number(), one.error) << one.steps;
    EXPECT_TRUE(found["units"].is_null());
  }
}

// The first frame fits, the second does not; all other files of the job are smaller.
TEST_F(MdTasks, AFullDiskLeavesATrajectoryOfWholeFrames) {
  const std::string task =
      "task: md_run, system: {source: fcc, particles: 2048}, trajectory: t.dcd, trajectory_every: 1, steps: ";
  EXPECT_EQ(run(task + "0"), "");
  const std::string path = folder_.file("out/t.dcd");
  const auto whole = std::filesystem::file_size(path);
  {
    const testing::FileSizeLimit limit(whole + 1000);
    EXPECT_THAT(run(task + "5"),
                AllOf(HasSubstr("t.dcd: frame 2 cannot be written; the file keeps the 1 before it: File too large")));
  }
  EXPECT_EQ(std::filesystem::file_size(path), whole);
}

}  // namespace
}  // namespace quadrille
