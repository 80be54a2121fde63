// The program from its command line: exit status, messages, results and restarts.
#include "input/commands/program.h"

#include "input/files/gauge_file.h"
#include "input/files/propagator_file.h"
#include "tests/input/files/lime_testing.h"
#include "tests/input/host_propagator.h"
#include "tests/testing/file_size_limit.h"

#include <nlohmann/json.hpp>

#include <omp.h>

#include <sstream>

#include <unistd.h>

namespace quadrille {
namespace {

using testing::FileSizeLimit;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::read_bytes;
using testing::read_propagator_file;
using testing::replace_text;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::write_bytes;
using testing::write_propagator_file;
using Json = nlohmann::json;

const std::string job = R"(gauge: {start: weak, dims: [4, 2, 2, 4], seed: 5, epsilon: 0.3, save: field.lime}
operator:
  type: wilson
  mass: 0.3
  boundary: [periodic, antiperiodic, {phase: 0.5}, antiperiodic]
solver: {type: bicgstab, tolerance: 1e-9, sloppy: {precision: single}}
run:
  - task: propagator
    source: {type: point, site: [1, 0, 1, 2]}
    save: {file: p.lime, precision: double}
  - task: mesons
    from: propagator
)";

class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() { write_bytes(folder_.file("job.yaml"), job); }

  int call(std::vector<std::string> words) {
    out_.str("");
    err_.str("");
    return run_program(words, out_, err_);
  }
  int run(std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", folder_.file("job.yaml")};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }
  std::string output(const std::string& name) const { return folder_.file("job.out/" + name); }
  Json results() const { return Json::parse(read_bytes(output("results.json"))); }

  TemporaryFolder folder_;
  std::ostringstream out_, err_;
};

TEST_F(ProgramTest, WrongCallsEndWithTwo) {
  const std::string file = folder_.file("job.yaml");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"dance"},
                                             {"run"},
                                             {"run", file, "--threads", "0"},
                                             {"run", file, "--threads", "-1"},
                                             {"run", file, "--threads", "100000"},
                                             {"run", file, "--threads", "two"},
                                             {"run", file, "--backend", "gpu"},
                                             {"run", file, "--set"},
                                             {"run", file, "--set", "run[9].name=x"},
                                             {"run", file, "extra"},
                                             {"check"},
                                             {"info"},
                                             {"run", file, "--nonsense"},
                                             {"help", "nothing"}}) {
    EXPECT_EQ(call(words), 2) << ::testing::PrintToString(words);
    EXPECT_NE(err(), "");
  }
  EXPECT_EQ(folder_.count(), 1u) << "nothing was written";
}

TEST_F(ProgramTest, HelpAndVersion) {
  EXPECT_EQ(call({"--version"}), 0);
  EXPECT_EQ(out(), "quadrille " QUADRILLE_VERSION "\n");
  EXPECT_EQ(call({"--help"}), 0);
  EXPECT_THAT(out(), HasSubstr("check"));
  EXPECT_EQ(call({"run", "--help"}), 0);
  EXPECT_THAT(out(), HasSubstr("--force"));
  EXPECT_EQ(call({"help", "solver", "cg"}), 0);
  EXPECT_THAT(out(), HasSubstr("tolerance"));
  EXPECT_EQ(call({"schema"}), 0);
  EXPECT_TRUE(Json::parse(out()).contains("$schema"));
}

TEST_F(ProgramTest, HelpKnowsCommandsAndSaysWhatThereIs) {
  EXPECT_EQ(call({"help", "run"}), 0);
  EXPECT_THAT(out(), HasSubstr("Usage: quadrille run [OPTIONS] JOB"));
  EXPECT_THAT(out(), HasSubstr("--threads"));
  EXPECT_THAT(out(), HasSubstr("task: propagator"));
  EXPECT_EQ(call({"help", "info"}), 0);
  EXPECT_THAT(out(), HasSubstr("FILE"));
  EXPECT_EQ(call({"help", "run", "mesons"}), 0);
  EXPECT_THAT(out(), HasSubstr("from: text; required"));
  EXPECT_EQ(call({"help", "source", "gaussian"}), 0);
  EXPECT_THAT(out(), HasSubstr("(task solver_study only)"));
  EXPECT_THAT(out(), HasSubstr("seed"));
  EXPECT_EQ(call({"help", "source", "displaced"}), 2);
  EXPECT_THAT(err(), HasSubstr("'displaced' is not implemented in this version; available sources: point, wall, noise, "
                               "sequential, file"));
  EXPECT_EQ(call({"help", "operater"}), 2);
  EXPECT_THAT(err(), HasSubstr("there is no 'operater'; did you mean 'operator'?"));
  EXPECT_EQ(call({"help", "kappa"}), 0);
  EXPECT_THAT(out(), HasSubstr("in operator wilson, operator twisted_mass, operator clover, operator twisted_clover:"));
  EXPECT_EQ(call({"help", "staggered"}), 2);
  EXPECT_THAT(err(), HasSubstr("'staggered' is not implemented in this version; available operators: wilson, "
                               "twisted_mass, clover, twisted_clover\n"));
}

TEST_F(ProgramTest, AGridThatCannotBeIsNamedByItsOption) {
  EXPECT_EQ(run({"--grid", "2", "1", "1", "1"}), 1);
  EXPECT_THAT(err(), HasSubstr("error: --grid: the grid 2 1 1 1 has 2 ranks, but 1 was started\n"));
  EXPECT_EQ(call({"bench", "dslash", "--dims", "4", "4", "4", "4", "--grid", "2", "1", "1", "1"}), 1);
  EXPECT_THAT(err(), HasSubstr("error: --grid: the grid 2 1 1 1 has 2 ranks, but 1 was started\n"));
}

TEST_F(ProgramTest, AReportOfAJobFileNamesItsOutputFolder) {
  EXPECT_EQ(call({"report", folder_.file("job.yaml")}), 1);
  EXPECT_THAT(err(), HasSubstr("job.yaml: this is a job, not its results: give its output folder (" +
                               folder_.file("job.out") + " by default)"));
}

TEST_F(ProgramTest, MisspeltCommandsAndOptionsAreGuessed) {
  const std::string file = folder_.file("job.yaml");
  const auto said = [&](std::vector<std::string> words) {
    EXPECT_EQ(call(std::move(words)), 2);
    return err();
  };
  EXPECT_THAT(said({"chekc", file}), HasSubstr("no command 'chekc'; did you mean 'check'?"));
  EXPECT_THAT(said({"dance"}), HasSubstr("no command 'dance'; the commands are run, check, info,"));
  EXPECT_THAT(said({"run", file, "--trheads", "2"}),
              HasSubstr("run has no option '--trheads'; did you mean '--threads'? (see quadrille run --help)"));
  EXPECT_THAT(said({"run", file, "--backed=cpu"}),
              HasSubstr("run has no option '--backed'; did you mean '--backend'?"));
  EXPECT_THAT(said({"run", file, "--nonsense"}), HasSubstr("run has no option '--nonsense' (see"));
  EXPECT_THAT(said({"run", file, "extra"}), HasSubstr("run: unexpected argument 'extra'"));
}

TEST_F(ProgramTest, ValuesOfOptionsThatCannotBeAreNamedWithWhatCan) {
  const std::string file = folder_.file("job.yaml");
  const auto said = [&](std::vector<std::string> words) {
    EXPECT_EQ(call(std::move(words)), 2);
    return err();
  };
  EXPECT_THAT(said({"run", file, "--threads", "two"}),
              HasSubstr("--threads: 'two' is not a whole number from 1 to 1024 (see quadrille run --help)"));
  EXPECT_THAT(said({"run", file, "--backend", "cda"}),
              HasSubstr("--backend: 'cda' is not one of auto, cpu, cuda; did you mean 'cuda'?"));
  EXPECT_THAT(said({"bench", "dslsh"}), HasSubstr("'dslsh' is not one of memory, dslash,"));
  EXPECT_THAT(said({"run", file, "--grid", "1", "1"}), HasSubstr("--grid needs X Y Z T (see"));
  EXPECT_THAT(said({"run", file, "--set"}), HasSubstr("--set needs KEY=VALUE (see"));
  EXPECT_THAT(said({"run", file, "--out"}), HasSubstr("--out needs DIR (see"));
}

TEST_F(ProgramTest, NamesOfFilesAreEscapedInMessages) {
  EXPECT_EQ(call({"info", folder_.file("a\nb\x1b[31m")}), 1);
  EXPECT_THAT(err(), HasSubstr("/a\\nb\\x1b[31m: no such file\n"));
  EXPECT_EQ(call({"check", folder_.file("a\nb.yaml")}), 1);
  EXPECT_THAT(err(), HasSubstr("/a\\nb.yaml"));
  EXPECT_THAT(err(), Not(HasSubstr("a\nb")));
}

TEST_F(ProgramTest, InfoOfADamagedFileIsAnErrorOnStandardErrorToo) {
  EXPECT_EQ(run(), 0) << err();
  std::string field = read_bytes(output("field.lime"));
  const std::size_t data = field.find("ildg-binary-data");
  field[data + 128 + 3] = char(field[data + 128 + 3] ^ 1);
  write_bytes(folder_.file("bad.lime"), field);
  EXPECT_EQ(call({"info", folder_.file("bad.lime")}), 1);
  EXPECT_THAT(out(), HasSubstr("checksum      mismatch"));
  EXPECT_THAT(err(), HasSubstr("checksum mismatch: the file says"));
}

// The last run of each is the one that counts: what ends a job must be refused before anything is written.
TEST_F(ProgramTest, ALatticeThatNoMachineHoldsIsRefusedByCheck) {
  EXPECT_EQ(call({"check", folder_.file("job.yaml"), "--set", "gauge.dims=[4096,4096,4096,4096]"}), 1);
  EXPECT_THAT(err(), HasSubstr("not enough memory: a lattice of 4096 x 4096 x 4096 x 4096 sites needs at least"));
  EXPECT_EQ(call({"check", folder_.file("job.yaml"), "--set", "gauge.dims=[8,8,8,8]"}), 0);
}

// A solve that found nothing must not look like a part of the propagator that is zero.
TEST_F(ProgramTest, AFailedSolveLeavesNullInCorrelators) {
  EXPECT_EQ(run({"--set", "solver={type: bicgstab, tolerance: 1e-9, max_iterations: 0}"}), 1)
      << "no iteration: " << err();
  EXPECT_EQ(run({"--set", "operator.mass=-3.999999", "--set", "solver.max_iterations=2", "--set",
                 "solver.scheme=uniform", "--set", "solver.sloppy=null"}),
            3)
      << err();
  const Json all = results();
  int failed = 0;
  for (const Json& solve : all["solves"]) failed += solve["residual"].is_null() || solve["residual"] >= 1.0;
  ASSERT_GT(failed, 0) << "the test needs a solve that finds nothing";
  for (const Json& value : all["correlators"]["mesons"]["pion"]) EXPECT_TRUE(value.is_null());
  for (const Json& value : all["correlators"]["mesons"]["effective_mass"]) EXPECT_TRUE(value.is_null());
  EXPECT_FALSE(std::filesystem::exists(output("p.lime")));
}

TEST_F(ProgramTest, CheckNamesEveryErrorAndChangesNothing) {
  EXPECT_EQ(call({"check", folder_.file("job.yaml")}), 0);
  EXPECT_THAT(out(), HasSubstr("no errors"));
  EXPECT_EQ(call({"check", folder_.file("job.yaml"), "--set", "operator.mass=x", "--set", "solver.tolerance=2"}), 1);
  EXPECT_THAT(err(), HasSubstr("quadrille: error: --set operator.mass: 'mass' must be a real number"));
  EXPECT_THAT(err(), HasSubstr("quadrille: error: --set solver.tolerance: 'tolerance' must be > 0 and < 1, got 2\n"));
  EXPECT_EQ(
      call({"check", folder_.file("job.yaml"), "--set", "gauge={file: none.lime}", "--set", "solver.tolerance=2"}), 1);
  EXPECT_THAT(err(), AllOf(HasSubstr("none.lime: no such file"), HasSubstr("'tolerance' must be")));
  EXPECT_EQ(call({"check", folder_.file("none.yaml")}), 1);
  EXPECT_THAT(err(), StartsWith("quadrille: error: " + folder_.file("none.yaml") + ": no such file"));
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(ProgramTest, ABadJobWritesNothing) {
  write_bytes(folder_.file("job.yaml"), job + "extra: 1\n");
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(err(), HasSubstr("job.yaml:13:1: unknown key 'extra'"));
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(ProgramTest, ResultsHoldWhatIsPromised) {
  ASSERT_EQ(run(), 0) << err();
  const Json r = results();
  for (const char* key : {"schema_version", "version", "backend", "isa", "threads", "job", "lattice", "gauge", "solves",
                          "correlators", "warnings"}) {
    EXPECT_TRUE(r.contains(key)) << key;
  }
  double parts = 0;
  for (const char* phase : {"read", "setup", "solves", "contractions", "write"}) {
    EXPECT_GT(r["timing"][phase], 0) << phase;
    parts += r["timing"][phase].get<double>();
  }
  EXPECT_GT(r["timing"]["total"], parts);
  double solves = 0;
  for (const Json& solve : r["solves"]) solves += solve["seconds"].get<double>();
  EXPECT_GE(r["timing"]["solves"], solves);
  EXPECT_GT(r["memory"]["host_peak"], r["memory"]["backend_peak"]);
  EXPECT_GE(r["memory"]["backend_peak"], 12 * 64 * 24 * 8) << "twelve columns of 64 sites";
  EXPECT_EQ(r["memory"]["parts"]["propagators"], 12 * 64 * 24 * 8);
  EXPECT_GT(r["memory"]["parts"]["operators"], 0);
  EXPECT_EQ(r["memory"]["propagators_on_host"], Json::array());
  EXPECT_EQ(r["lattice"]["dims"], (Json{4, 2, 2, 4}));
  EXPECT_EQ(r["job"]["solver"]["max_iterations"], 10000) << "defaults are filled in";
  ASSERT_EQ(r["solves"].size(), 12u);
  for (const char* key :
       {"task",      "spin",   "color",     "mass",      "kappa",       "solver",     "preconditioning",  "scheme",
        "precision", "sloppy", "tolerance", "converged", "stop_reason", "iterations", "reliable_updates", "residual",
        "seconds",   "gflops", "kernels",   "history"}) {
    EXPECT_TRUE(r["solves"][7].contains(key)) << key;
  }
  for (const Json& solve : r["solves"]) {
    EXPECT_TRUE(solve["converged"]);
    EXPECT_LE(solve["residual"], 1e-9);
    EXPECT_EQ(solve["preconditioning"], (Json{{"form", "asymmetric"}, {"parity", "even"}}));
    EXPECT_GT(solve["kernels"].size(), 1u);
  }
  EXPECT_EQ(r["solves"][4]["spin"], 1);
  EXPECT_EQ(r["solves"][4]["color"], 1);
  for (const char* plane : {"xy", "xz", "xt", "yz", "yt", "zt"}) EXPECT_TRUE(r["gauge"]["planes"].contains(plane));
  EXPECT_EQ(r["correlators"]["mesons"]["source_time"], 2);
  EXPECT_EQ(r["correlators"].size(), 1u) << "the correlator is there once";
  ASSERT_EQ(r["correlators"]["mesons"]["pion"].size(), 4u);

  // The correlator is that of the propagator in the file, and the field's file holds the field.
  const auto saved = read_propagator_file(output("p.lime"));
  for (int t = 0; t < 4; ++t) {
    double sum = 0;
    for (std::size_t k = 0; k < 16 * 144; ++k) sum += std::norm(saved.propagator.data[std::size_t(t) * 16 * 144 + k]);
    EXPECT_NEAR(r["correlators"]["mesons"]["pion"][std::size_t(t)], sum, 1e-14 * sum);
  }
  const GaugeObservables seen = read_gauge_file(output("field.lime")).links->observables();
  EXPECT_EQ(r["gauge"]["plaquette"], seen.plaquette);
  EXPECT_EQ(r["gauge"]["checksum"]["suma"].get<std::string>().size(), 8u);
}

/// The keys of results.json in their order.
std::vector<std::string> keys_of(const std::string& file) {
  const auto tree = nlohmann::ordered_json::parse(read_bytes(file));
  std::vector<std::string> keys;
  for (const auto& [key, value] : tree.items()) keys.push_back(key);
  return keys;
}

TEST_F(ProgramTest, ResultsBeginWithThePhysics) {
  ASSERT_EQ(run(), 0) << err();
  EXPECT_EQ(keys_of(output("results.json")),
            (std::vector<std::string>{"schema_version", "correlators", "solves", "warnings", "lattice", "gauge", "job",
                                      "version", "backend", "isa", "threads", "timing", "memory"}));
  write_bytes(folder_.file("job.yaml"),
              "run:\n  - task: md_run\n    system: {source: fcc, particles: 256, density: 0.5}\n    steps: 4\n"
              "    every: 2\n");
  ASSERT_EQ(run({"--force"}), 0) << err();
  EXPECT_EQ(keys_of(output("results.json")),
            (std::vector<std::string>{"schema_version", "dynamics", "warnings", "job", "version", "backend", "isa",
                                      "threads", "timing", "memory"}));
}

TEST_F(ProgramTest, TheLastLineSaysTheTimeInAllAndOfSolves) {
  testing::LogCapture captured;
  ASSERT_EQ(run(), 0) << err();
  EXPECT_THAT(captured.text(), ::testing::ContainsRegex("total [0-9.]+ s, solves [0-9.]+ s\n$"));
}

TEST_F(ProgramTest, LinksAreSavedInSinglePrecisionToo) {
  write_bytes(folder_.file("job.yaml"), job.substr(0, job.find('\n') + 1));
  ASSERT_EQ(run({"--set", "gauge.save={file: field.lime, precision: single}"}), 0) << err();
  EXPECT_EQ(call({"info", output("field.lime")}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("32 bits"));
  const HostLinks single = read_gauge_file(output("field.lime")).links->host_links();
  ASSERT_EQ(run({"--force"}), 0) << err();
  EXPECT_EQ(call({"info", output("field.lime")}), 0) << err();
  EXPECT_THAT(out(), HasSubstr("64 bits"));
  const HostLinks links = read_gauge_file(output("field.lime")).links->host_links();
  for (std::size_t k = 0; k < links.data.size(); ++k) {
    EXPECT_EQ(single.data[k].real(), double(float(links.data[k].real()))) << k;
    EXPECT_EQ(single.data[k].imag(), double(float(links.data[k].imag()))) << k;
  }
}

TEST_F(ProgramTest, AFinishedJobIsNotDoneAgainAndALostTaskIs) {
  ASSERT_EQ(run(), 0) << err();
  const Json first = results();
  ASSERT_EQ(run(), 0) << err();
  EXPECT_EQ(results()["solves"], first["solves"]) << "the very same seconds: nothing was solved";

  // As if interrupted between the tasks: mesons reads the propagator back from its file.
  Json state = Json::parse(read_bytes(output("restart.json")));
  state["tasks"].erase("mesons");
  write_bytes(output("restart.json"), state.dump());
  ASSERT_EQ(run(), 0) << err();
  EXPECT_EQ(results()["solves"], first["solves"]);
  EXPECT_EQ(results()["correlators"], first["correlators"]);

  // The file is no longer what was computed: the propagator is solved again.
  write_bytes(output("restart.json"), state.dump());
  auto saved = read_propagator_file(output("p.lime"));
  saved.propagator.data[5] += 1;
  write_propagator_file(output("p.lime"), saved.propagator, {});
  ASSERT_EQ(run(), 0) << err();
  const Json second = results();
  EXPECT_NE(second["solves"], first["solves"]);
  EXPECT_EQ(second["correlators"], first["correlators"]);

  // The same for a file that is damaged.
  write_bytes(output("restart.json"), state.dump());
  write_bytes(output("p.lime"), read_bytes(output("p.lime")).substr(0, 5000));
  ASSERT_EQ(run(), 0) << err();
  EXPECT_NE(results()["solves"], second["solves"]);
  EXPECT_EQ(results()["correlators"], first["correlators"]);
}

TEST_F(ProgramTest, WhatAKilledRunLeftHalfWrittenIsRemoved) {
  std::filesystem::create_directories(output(""));
  // No process has a number that large; this one runs.
  const std::string mine = output(".p.lime." + std::to_string(::getpid()) + ".77.part");
  const std::vector<std::string> gone = {output(".p.lime.1999999999.0.part"),
                                         output(".restart.json.1999999999.3.part")};
  const std::vector<std::string> kept = {mine, output(".p.lime.x.0.part"), output(".q.lime.1999999999.0.part")};
  for (const auto* files : {&gone, &kept}) {
    for (const std::string& file : *files) write_bytes(file, "half");
  }
  ASSERT_EQ(run(), 0) << err();
  for (const std::string& file : gone) EXPECT_FALSE(std::filesystem::exists(file)) << file;
  for (const std::string& file : kept) EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

TEST_F(ProgramTest, ARestartTellsWithHowManyThreadsTheOldSolvesRan) {
  const int before = omp_get_max_threads();
  ASSERT_EQ(run({"--threads", "2"}), 0) << err();
  EXPECT_EQ(results()["warnings"].size(), 0u);
  ASSERT_EQ(run({"--threads", "1"}), 0) << err();
  EXPECT_EQ(results()["threads"], 1);
  ASSERT_EQ(results()["warnings"].size(), 1u);
  EXPECT_EQ(results()["warnings"][0],
            "propagator: solved by an earlier run, with " + results()["isa"].get<std::string>() + " and threads: 2");
  ASSERT_EQ(run({"--threads", "2"}), 0) << err();
  EXPECT_EQ(results()["warnings"].size(), 0u);
  omp_set_num_threads(before);
}

TEST_F(ProgramTest, TheFolderOfAnotherJobIsRefused) {
  ASSERT_EQ(run(), 0) << err();
  const std::string before = read_bytes(output("results.json"));
  EXPECT_EQ(run({"--set", "operator.mass=0.4"}), 1);
  EXPECT_THAT(err(), HasSubstr("another job: operator.mass is 0.3 there but 0.4 here"));
  EXPECT_EQ(read_bytes(output("results.json")), before);
  ASSERT_EQ(run({"--set", "operator.mass=0.4", "--force"}), 0) << err();
  EXPECT_EQ(results()["solves"][0]["mass"], 0.4);
}

TEST_F(ProgramTest, NoConvergenceEndsWithThreeAndStillWrites) {
  EXPECT_EQ(run({"--set", "solver.max_iterations=2"}), 3);
  EXPECT_THAT(err(), HasSubstr("quadrille: error: not converged: see 'converged' in "));
  EXPECT_FALSE(results()["solves"][0]["converged"]);
  EXPECT_EQ(results()["solves"][0]["stop_reason"], "max_iterations");
  EXPECT_THAT(results()["warnings"].dump(),
              HasSubstr("propagator: 12 of 12 columns have no solution (largest residual "));
  EXPECT_THAT(results()["warnings"].dump(), HasSubstr("): no propagator file, no correlator; spin 0, color 0: "));
  EXPECT_EQ(results()["warnings"].size(), 1u) << results()["warnings"];
  EXPECT_FALSE(std::filesystem::exists(output("p.lime")));
  const Json found = results();
  for (const Json& value : found["correlators"]["mesons"]["pion"]) EXPECT_TRUE(value.is_null());
  EXPECT_TRUE(results()["correlators"].contains("mesons"));
  EXPECT_EQ(run({"--set", "solver.max_iterations=2"}), 3) << "a restart says so again";
}

// Above the tolerance is above the tolerance: a column of 12 % is no number of a correlator, and one of 99 % neither.
TEST_F(ProgramTest, AnIncompletePropagatorIsWrittenOnlyWhenAskedFor) {
  EXPECT_EQ(run({"--set", "solver.max_iterations=2", "--set", "run[0].save.incomplete=true"}), 3);
  EXPECT_TRUE(std::filesystem::exists(output("p.lime")));
  EXPECT_EQ(call({"info", output("p.lime")}), 0) << err();
  EXPECT_THAT(results()["warnings"].dump(), HasSubstr("): no correlator; spin 0, color 0: "));
  ASSERT_EQ(results()["correlators"]["mesons"]["pion"].size(), 4u);
  const Json found = results();
  for (const Json& value : found["correlators"]["mesons"]["pion"]) EXPECT_TRUE(value.is_null());

  // A mesons task that is done again, as after an interruption, does not take the file for a propagator.
  Json state = Json::parse(read_bytes(output("restart.json")));
  state["tasks"].erase("mesons");
  write_bytes(output("restart.json"), state.dump());
  EXPECT_EQ(run({"--set", "solver.max_iterations=2", "--set", "run[0].save.incomplete=true"}), 3);
  const Json again = results();
  for (const Json& value : again["correlators"]["mesons"]["pion"]) EXPECT_TRUE(value.is_null());
}

TEST_F(ProgramTest, OutputsThatCannotBeWritten) {
  write_bytes(folder_.file("in_the_way"), "a file");
  EXPECT_EQ(run({"--out", folder_.file("in_the_way")}), 1);
  EXPECT_THAT(err(), HasSubstr("in_the_way"));
  EXPECT_EQ(run({"--out", folder_.file("in_the_way/below")}), 1);
  EXPECT_THAT(err(), HasSubstr("in_the_way"));
  std::filesystem::create_directories(folder_.file("closed"));
  std::filesystem::permissions(folder_.file("closed"), std::filesystem::perms::owner_read);
  if (::access(folder_.file("closed").c_str(), W_OK) != 0) {  // root may write anywhere
    EXPECT_EQ(run({"--out", folder_.file("closed")}), 1);
    EXPECT_THAT(err(), HasSubstr("closed"));
  }
  std::filesystem::permissions(folder_.file("closed"), std::filesystem::perms::owner_all);
}

TEST_F(ProgramTest, AFolderThatLeadsNowhereIsRefusedBeforeWork) {
  std::filesystem::create_directories(output(""));
  std::filesystem::create_symlink(folder_.file("absent"), output("scratch"));
  EXPECT_EQ(run({"--set", "run[0].save.file=scratch/p.lime"}), 1);
  EXPECT_THAT(err(), AllOf(HasSubstr("scratch/p.lime"), Not(HasSubstr("solves"))));
}

TEST_F(ProgramTest, AFullDiskIsSaidAndLeavesNoHalfFile) {
  {
    const FileSizeLimit full(100000);
    EXPECT_EQ(run(), 1);
  }
  EXPECT_THAT(err(), HasSubstr(output("p.lime") + ": writing failed: file too large; the incomplete file was removed"));
  EXPECT_FALSE(std::filesystem::exists(output("p.lime")));
  ASSERT_EQ(run(), 0) << err();
  EXPECT_TRUE(std::filesystem::exists(output("p.lime")));
}

TEST_F(ProgramTest, AnInputIsNeverOverwritten) {
  ASSERT_EQ(run(), 0) << err();
  const std::string before = read_bytes(output("field.lime"));
  write_bytes(folder_.file("job.yaml"), "gauge: {file: job.out/field.lime, save: field.lime}\n");
  EXPECT_EQ(run({"--force"}), 1);
  EXPECT_THAT(err(), HasSubstr("job.yaml:1:41: 'field.lime' is the input"));
  EXPECT_EQ(read_bytes(output("field.lime")), before);
}

TEST_F(ProgramTest, NoOutputReplacesTheJobOrTheResults) {
  for (const std::string& file :
       {std::string("restart.json"), output("results.json"), std::string("../job.yaml"), std::string("field.lime")}) {
    const std::vector<std::string> set = {"--set", "run[0].save.file=" + file};
    EXPECT_EQ(run(set), 1) << file;
    EXPECT_THAT(err(), StartsWith("quadrille: error: --set run[0].save.file: '" + file + "' ")) << err();
    EXPECT_EQ(call({"check", folder_.file("job.yaml"), set[0], set[1]}), 1) << file;
    EXPECT_FALSE(std::filesystem::exists(output("")));
  }
  EXPECT_EQ(read_bytes(folder_.file("job.yaml")), job);
}

TEST_F(ProgramTest, AnOutputThatCannotBeWrittenIsSaidBeforeAnySolve) {
  EXPECT_EQ(run({"--set", "run[0].save.file=/proc/p.lime"}), 1);
  EXPECT_THAT(err(), StartsWith("quadrille: error: --set run[0].save.file: '/proc/p.lime': "));
  EXPECT_FALSE(std::filesystem::exists(output("restart.json")));
  EXPECT_FALSE(std::filesystem::exists(output("results.json")));
  std::filesystem::create_directories(output("p.lime"));
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(err(), HasSubstr("job.yaml:10:18: 'p.lime' must be a file, not a folder"));
  EXPECT_FALSE(std::filesystem::exists(output("restart.json")));
}

TEST_F(ProgramTest, LinksThatAreNotUnitaryEnoughAreSaidBeforeAnySolve) {
  std::mt19937_64 generator = testing::fresh_generator();
  HostLinks links = testing::random_links({4, 2, 2, 4}, generator);
  for (Complex& number : links.data) number *= 1 + 1e-12;
  write_gauge_file(folder_.file("field.lime"), links);
  std::string reading = job;
  reading.replace(0, reading.find('\n'), "gauge: {file: field.lime}");
  replace_text(reading, "tolerance: 1e-9", "tolerance: 1e-9, reconstruct: 12");
  write_bytes(folder_.file("job.yaml"), reading);
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(err(),
              HasSubstr("job.yaml:6:56: with `reconstruct: 12` of the outer operator links must be unitary to 1e-13"));
  EXPECT_FALSE(std::filesystem::exists(output("restart.json")));
  EXPECT_FALSE(std::filesystem::exists(output("results.json")));
  EXPECT_EQ(run({"--set", "gauge.reunitarize=true"}), 0) << err();
}

TEST_F(ProgramTest, AChangedGaugeFileIsNoticed) {
  ASSERT_EQ(run(), 0) << err();
  std::filesystem::rename(output("field.lime"), folder_.file("field.lime"));
  std::string reading = job;
  reading.replace(0, reading.find('\n'), "gauge: {file: field.lime}");
  write_bytes(folder_.file("job.yaml"), reading);
  ASSERT_EQ(run({"--force"}), 0) << err();
  const Json first = results();
  EXPECT_EQ(first["gauge"]["checksum"]["verdict"], "ok");
  HostLinks links = read_gauge_file(folder_.file("field.lime")).links->host_links();
  for (std::size_t k = 0; k < 9; ++k) links.data[k] = k % 4 == 0 ? 1 : 0;
  write_gauge_file(folder_.file("field.lime"), links);
  ASSERT_EQ(run(), 0) << err();
  EXPECT_NE(results()["correlators"], first["correlators"]);
}

}  // namespace
}  // namespace quadrille
