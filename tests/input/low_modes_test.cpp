// Deflation in jobs: low modes that tasks share, and those in files.
#include "input/commands/program.h"

#include "tests/input/files/lime_testing.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace quadrille {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::LogCapture;
using ::testing::Not;
using testing::read_bytes;
using testing::TemporaryFolder;
using testing::write_bytes;
using Json = nlohmann::json;

const std::string job = R"(gauge: {start: weak, dims: [4, 4, 4, 8], seed: 5, epsilon: 0.3}
operator: {type: wilson, mass: -0.2, boundary: [periodic, periodic, periodic, antiperiodic]}
solver: {type: cg, tolerance: 1e-9, deflation: {vectors: 16, window: 24, modes: 6}}
run:
  - {task: propagator, name: a, source: {type: point, site: [1, 0, 1, 2]}}
  - {task: propagator, name: b, source: {type: point, site: [2, 3, 1, 7]}, save: {file: b.lime, precision: double}}
)";

class LowModesTest : public ::testing::Test {
 protected:
  int run(const std::vector<std::string>& more = {}, const std::string& out = "out") {
    write_bytes(folder_.file("job.yaml"), job);
    std::vector<std::string> words = {"run", folder_.file("job.yaml"), "--out", folder_.file(out)};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  int call(const std::vector<std::string>& words) {
    std::ostringstream err;
    out_.str("");
    const int status = run_program(words, out_, err);
    err_ = err.str();
    return status;
  }
  Json results(const std::string& out = "out") const {
    return Json::parse(read_bytes(folder_.file(out + "/results.json")));
  }
  /// Vectors of the space in which the solves of a task began.
  std::vector<int> vectors(const std::string& task, const std::string& out = "out") const {
    std::vector<int> found;
    const Json all = results(out);
    for (const Json& solve : all["solves"]) {
      if (solve["task"] == task) found.push_back(solve.value("deflation_vectors", -1));
    }
    return found;
  }
  /// |b - M x| / |b| where the solves of a task began.
  std::vector<double> beginnings(const std::string& task, const std::string& out = "out") const {
    std::vector<double> found;
    const Json all = results(out);
    for (const Json& solve : all["solves"]) {
      if (solve["task"] == task) found.push_back(solve["history"].at(0).at(1).get<double>());
    }
    return found;
  }

  TemporaryFolder folder_;
  std::ostringstream out_;
  std::string err_;
};

TEST_F(LowModesTest, TasksOfOneSystemShareThem) {
  const LogCapture log;
  ASSERT_EQ(run(), 0) << err_;
  EXPECT_EQ(vectors("a").front(), 0);
  EXPECT_EQ(vectors("a").back(), 16);
  EXPECT_EQ(vectors("b"), std::vector<int>(12, 16));
  EXPECT_EQ(beginnings("a").front(), 1);
  for (const double residual : beginnings("b")) EXPECT_LT(residual, 0.999);
  EXPECT_THAT(log.text(), HasSubstr("a: the deflation space has 16 of 16 vectors"));
  // Whatever its tolerance is.
  const std::string other = "run[1].solver={type: cg, tolerance: 1e-7, deflation: {vectors: 16, window: 24, modes: 6}}";
  ASSERT_EQ(run({"--set", other}, "looser"), 0) << err_;
  EXPECT_EQ(vectors("b", "looser"), std::vector<int>(12, 16));
}

TEST_F(LowModesTest, OtherSystemsHaveTheirOwn) {
  int number = 0;
  for (const std::string& other :
       {std::string(
            "run[1].operator={type: wilson, mass: -0.1, boundary: [periodic, periodic, periodic, antiperiodic]}"),
        std::string("run[1].solver={type: cg, tolerance: 1e-9, deflation: {vectors: 12, window: 24, modes: 6}}")}) {
    const std::string out = "out" + std::to_string(++number);
    ASSERT_EQ(run({"--set", other}, out), 0) << err_;
    EXPECT_EQ(vectors("b", out).front(), 0) << other;
  }
  ASSERT_EQ(run({"--set", "run[1].solver={type: bicgstab}"}, "none"), 0) << err_;
  EXPECT_EQ(vectors("b", "none"), std::vector<int>(12, -1));
}

TEST_F(LowModesTest, AnotherJobBeginsWithThoseOfAFile) {
  ASSERT_EQ(run({"--set", "run[1].low_modes.save=modes.lime"}), 0) << err_;
  const std::string file = folder_.file("out/modes.lime");
  ASSERT_EQ(call({"info", file}), 0) << err_;
  EXPECT_THAT(out_.str(), ContainsRegex("content +16 low modes for deflation"));
  EXPECT_THAT(out_.str(), ContainsRegex("sites +even"));

  const std::vector<std::string> begin = {"--set", "run[0].low_modes.file=" + file};
  ASSERT_EQ(run(begin, "again"), 0) << err_;
  EXPECT_EQ(vectors("a", "again"), std::vector<int>(12, 16));
  // The same space, but for its rounding: b begins where it began in the first job.
  const std::vector<double> first = beginnings("b"), second = beginnings("b", "again");
  for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(second[k], first[k], 1e-4);
  EXPECT_EQ(results("again")["warnings"], Json::array());

  // Those of another mass gain less, and change no result.
  std::vector<std::string> words = begin;
  words.insert(words.end(), {"--set", "operator.mass=-0.21"});
  ASSERT_EQ(run(words, "near"), 0) << err_;
  EXPECT_THAT(
      results("near")["warnings"].at(0).get<std::string>(),
      HasSubstr("has low modes of another system, which gain less: operator.mass is -0.2 there but -0.21 here"));
  EXPECT_EQ(vectors("a", "near").front(), 16);
  // A smaller space takes the first of them, a larger one is filled.
  for (const int size : {8, 24}) {
    words = begin;
    words.insert(words.end(), {"--set", "solver.deflation.vectors=" + std::to_string(size)});
    const std::string out = "size" + std::to_string(size);
    ASSERT_EQ(run(words, out), 0) << err_;
    EXPECT_EQ(vectors("a", out).front(), std::min(size, 16));
    EXPECT_EQ(vectors("b", out).back(), size);
  }
}

TEST_F(LowModesTest, ThePropagatorOfATaskThatSavesBothIsReadBack) {
  const std::vector<std::string> more = {"--set", "run[0].low_modes.save=modes.lime",
                                         "--set", "run[0].save={file: a.lime, precision: double}",
                                         "--set", "run[1]={task: mesons, from: a}"};
  ASSERT_EQ(run(more), 0) << err_;
  const Json before = results();
  const std::string file = folder_.file("out/restart.json");
  Json restart = Json::parse(read_bytes(file));
  ASSERT_EQ(restart["tasks"].erase("mesons"), 1u);  // as if the run had been killed before it
  write_bytes(file, restart.dump());
  const LogCapture log;
  ASSERT_EQ(run(more), 0) << err_;
  EXPECT_THAT(log.text(), Not(HasSubstr("solving again")));
  EXPECT_EQ(results()["correlators"], before["correlators"]);
}

TEST_F(LowModesTest, ErrorsHaveTheirPlaceInTheJob) {
  EXPECT_EQ(run({"--set", "run[0].low_modes.save=m.lime", "--set", "solver={type: cg}"}), 1);
  EXPECT_THAT(err_, ContainsRegex("--set.*'low_modes' are those of a solver with deflation"));
  EXPECT_EQ(run({"--set", "run[0].low_modes.file=none.lime"}), 1);
  EXPECT_THAT(err_, HasSubstr("'low_modes.file': "));
  ASSERT_EQ(run({"--set", "run[0].low_modes.save=modes.lime"}), 0) << err_;
  const std::string file = folder_.file("out/modes.lime");
  EXPECT_EQ(run({"--set", "run[0].low_modes.file=" + file, "--set", "gauge.dims=[4, 4, 4, 4]"}, "small"), 1);
  EXPECT_THAT(err_, HasSubstr("these low modes are on a 4x4x4x8 lattice, not on one of 4x4x4x4"));
  EXPECT_EQ(call({"check", folder_.file("job.yaml"), "--set", "run[0].low_modes.file=" + folder_.file("out/b.lime")}),
            1);
  EXPECT_THAT(err_, HasSubstr("there are no low modes in this file"));
  std::string bytes = read_bytes(file);
  bytes[bytes.size() / 2] ^= 1;
  write_bytes(file, bytes);
  EXPECT_EQ(run({"--set", "run[0].low_modes.file=" + file}, "damaged"), 1);
  EXPECT_THAT(err_, ContainsRegex("modes.lime.*without these low modes solves find them anew"));
}

}  // namespace
}  // namespace quadrille
