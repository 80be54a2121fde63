// Jobs: what a good one resolves to, and the place and words of every mistake.
#include "input/job.h"
#include "input/blocks.h"
#include "input/document.h"
#include "input/output_folder.h"
#include "input/outputs.h"
#include "input/overrides.h"
#include "input/progress.h"
#include "modules/results_blocks.h"
#include "tests/input/lime_testing.h"

#include <limits>
#include <tuple>

#include <unistd.h>

namespace quadrille {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using testing::TemporaryFolder;
using testing::write_bytes;
using Json = nlohmann::ordered_json;

const std::string gauge = "gauge: {start: cold, dims: [4, 4, 4, 8]}\n";
const std::string op = "operator: {type: wilson, mass: 0.1, boundary: [periodic, periodic, periodic, antiperiodic]}\n";
const std::string solver = "solver: {type: cg}\n";
const std::string propagator = "  - {task: propagator, source: {type: point, site: [0, 0, 0, 0]}}\n";
const std::string mesons = "  - {task: mesons, from: propagator}\n";
const std::string good = gauge + op + solver + "run:\n" + propagator + mesons;

class JobTest : public ::testing::Test {
 protected:
  Job read(const std::string& text, const std::vector<std::string>& set = {}) {
    write_bytes(folder_.file("job.yaml"), text);
    errors_.clear();
    return read_job(folder_.file("job.yaml"), set, errors_);
  }

  /// Every error, one a line, without the folder's name.
  std::string errors_of(const std::string& text, const std::vector<std::string>& set = {}, bool inputs = false) {
    const Job job = read(text, set);
    if (errors_.empty()) check_outputs(job, folder_.file("out"), errors_);
    if (inputs && errors_.empty()) check_inputs(job, errors_);
    std::string all;
    for (const Error& error : errors_) {
      std::string line = error.what();
      for (std::size_t at; (at = line.find(folder_.file(""))) != std::string::npos;) {
        line.erase(at, folder_.file("").size());
      }
      all += line + "\n";
    }
    return all;
  }

  TemporaryFolder folder_;
  std::vector<Error> errors_;
};

TEST_F(JobTest, AGoodJobResolvesWithItsDefaults) {
  const Job job = read(good);
  for (const Error& error : errors_) ADD_FAILURE() << error.what();
  ASSERT_EQ(job.run.size(), 2u);
  EXPECT_EQ(job.run[0].name, "propagator");
  ASSERT_TRUE(job.run[0].op && job.run[0].solver);
  EXPECT_EQ(job.run[0].op->real("mass"), 0.1);
  EXPECT_FALSE(job.run[1].op);
  EXPECT_EQ(job.run[1].uses, std::vector<std::string>{"propagator"});
  EXPECT_EQ(job.run[0].solver->real("tolerance"), 1e-10);
  EXPECT_EQ(job.input_path("a.lime").string(), folder_.file("a.lime"));
  EXPECT_EQ(job.input_path("/b/a.lime").string(), "/b/a.lime");
}

TEST_F(JobTest, TheEchoIsAValidJobThatResolvesToItself) {
  const std::string echo = job_json(read(good)).dump(1);
  EXPECT_EQ(errors_of(echo), "");
  EXPECT_EQ(job_json(read(echo)).dump(1), echo);
  EXPECT_THAT(echo, HasSubstr("\"reconstruct\": 12"));
}

TEST_F(JobTest, ATaskMayCarryItsOwnOperatorAndSolver) {
  const std::string own =
      "run:\n  - {task: propagator, name: heavy, source: {type: point, site: [0, 0, 0, 0]},\n"
      "     operator: {type: wilson, mass: 2, boundary: [periodic, periodic, periodic, periodic]},\n"
      "     solver: {type: bicgstab, tolerance: 1e-5}}\n";
  const Job alone = read(gauge + own);
  EXPECT_EQ(errors_.size(), 0u) << "blocks are demanded only by tasks that use them";
  EXPECT_EQ(alone.run.at(0).op->real("mass"), 2);
  const Job both = read(gauge + op + solver + own + propagator);
  EXPECT_EQ(errors_.size(), 0u);
  EXPECT_EQ(both.run.at(0).solver->text("type"), "bicgstab");
  EXPECT_EQ(both.run.at(1).solver->text("type"), "cg");
}

TEST_F(JobTest, AJobWithoutTasksMeasuresAndSavesItsGaugeField) {
  EXPECT_EQ(errors_of("gauge: {start: weak, dims: [4, 4, 4, 4], seed: 3, epsilon: 0.2, save: a.lime}\n"), "");
}

TEST_F(JobTest, GaugeSaveIsAFileOrAMap) {
  const std::string start = "gauge: {start: cold, dims: [4, 4, 4, 4], save: ";
  const Json echo = job_json(read(start + "a.lime}\n"))["gauge"]["save"];
  EXPECT_EQ(echo.dump(), R"({"file":"a.lime","precision":"double"})");
  EXPECT_EQ(job_json(read(start + "{file: a.lime}}\n"))["gauge"]["save"], echo);
  const Job single = read(start + "{file: a.lime, precision: single}}\n");
  EXPECT_EQ(single.gauge->group("save").text("precision"), "single");
  EXPECT_THAT(errors_of(start + "{precision: single}}\n"), HasSubstr("job.yaml:1:48: 'gauge.save.file' is missing"));
  EXPECT_THAT(errors_of(start + "{file: a.lime, precision: half}}\n"),
              HasSubstr("'gauge.save.precision' must be one of single, double"));
  EXPECT_THAT(errors_of(start + "[a.lime]}\n"), HasSubstr("job.yaml:1:48: 'gauge.save' must be"));
  EXPECT_THAT(errors_of(start + "''}\n"), HasSubstr("job.yaml:1:48: 'gauge.save.file' must be"));
  EXPECT_THAT(errors_of(start + "results.json}\n"), HasSubstr("job.yaml:1:48: 'results.json' holds the results"));
  const Json schema = job_schema()["properties"]["gauge"]["properties"]["save"]["anyOf"];
  EXPECT_EQ(schema[0]["type"], "string");
  EXPECT_EQ(schema[1]["required"], Json::array({"file"}));
}

TEST_F(JobTest, MissingBlocksAreDemandedByTheTasksThatUseThem) {
  EXPECT_THAT(errors_of(gauge + solver + "run:\n" + propagator),
              MatchesRegex("job.yaml:4:5: task 'propagator' needs 'operator': .*\n"));
  EXPECT_THAT(errors_of(op + solver + "run:\n" + propagator), HasSubstr("'gauge' is missing"));
  EXPECT_THAT(errors_of("run: []\n"), HasSubstr("nothing to do"));
  EXPECT_THAT(errors_of("[1, 2]\n"), HasSubstr("a job is a map"));
}

TEST_F(JobTest, WithoutASolverItsDefaultsStand) {
  const Job job = read(gauge + op + "run:\n" + propagator);
  for (const Error& error : errors_) ADD_FAILURE() << error.what();
  EXPECT_EQ(job.run.at(0).solver->text("type"), "bicgstab");
  EXPECT_EQ(job_json(job)["solver"]["tolerance"], 1e-10) << "the echo says what is done";
  EXPECT_FALSE(job_json(read(gauge)).contains("solver")) << "nothing is solved";
  EXPECT_THAT(help_text({"solver"}), HasSubstr("if it is left out: {type: bicgstab}"));
}

TEST_F(JobTest, PropagatorSaveIsAFileOrAMap) {
  const std::string task = "  - {task: propagator, source: {type: point, site: [0, 0, 0, 0]}, save: ";
  const Json echo = job_json(read(gauge + op + "run:\n" + task + "p.lime}\n"))["run"][0]["save"];
  EXPECT_EQ(echo.dump(), R"({"file":"p.lime","precision":"single","incomplete":false})");
  EXPECT_EQ(job_json(read(gauge + op + "run:\n" + task + "{file: p.lime}}\n"))["run"][0]["save"], echo);
}

TEST_F(JobTest, TasksWorkOnTheLinksOfTheGenerateBeforeThem) {
  const std::string chain = "  - {task: generate, beta: 6, thermalization: 1}\n";
  const Job job = read(gauge + op + "run:\n" + propagator + chain +
                       "  - {task: propagator, name: after, source: {type: point, site: [0, 0, 0, 0]}}\n"
                       "  - {task: mesons, name: pion_before, from: propagator}\n");
  for (const Error& error : errors_) ADD_FAILURE() << error.what();
  EXPECT_EQ(job.run.at(0).links_from, "");
  EXPECT_EQ(job.run.at(1).links_from, "");
  EXPECT_EQ(job.run.at(2).links_from, "generate");
  EXPECT_EQ(job.run.at(3).links_from, "") << "it works on a propagator";
  EXPECT_EQ(extendable(job), std::vector<std::string>{"/run/1/configurations"});
  EXPECT_THAT(
      errors_of(gauge + "run:\n" + chain + "  - {task: generate, name: more, beta: 5, thermalization: 1}\n", {}, true),
      HasSubstr("'first_sweep' is missing: the chain starts from the links of generate"));
}

TEST_F(JobTest, MistakesNameTheirPlace) {
  EXPECT_EQ(errors_of(good + "solvr: {}\n"), "job.yaml:7:1: unknown key 'solvr' in the job; did you mean 'solver'?\n");
  EXPECT_THAT(
      errors_of(gauge + "operator:\n  type: wilson\n  mas: 1\n  boundary: [periodic, periodic, periodic, periodic]\n"),
      HasSubstr("job.yaml:4:3: unknown key 'mas' in operator wilson; did you mean 'mass'?"));
  EXPECT_THAT(errors_of(gauge + "operator: {type: wilsen}\n"),
              HasSubstr("job.yaml:2:18: 'type' must be wilson, got 'wilsen'; did you mean 'wilson'?"));
  EXPECT_THAT(errors_of(gauge + "operator: {type: wilson, kappa: 0.1, mass: 0.2, "
                                "boundary: [periodic, periodic, periodic, periodic]}\n"),
              HasSubstr("operator wilson takes exactly one of"));
  EXPECT_THAT(errors_of(gauge + "operator: {type: wilson, kappa: 0.1}\n"),
              HasSubstr("job.yaml:2:11: 'boundary' is missing in operator wilson: give four of periodic"));
  EXPECT_THAT(errors_of(gauge + "solver: {type: cg, tolerance: -1e-8}\n"),
              HasSubstr("job.yaml:2:31: 'tolerance' must be > 0 and < 1, got -1e-8"));
  EXPECT_THAT(errors_of(gauge + "solver:\n"), HasSubstr("job.yaml:2:1: 'solver' has no value"));
  EXPECT_THAT(errors_of(gauge + "run: {task: mesons}\n"), HasSubstr("job.yaml:2:6: 'run' must be a list"));
  EXPECT_THAT(errors_of(gauge + "run:\n  - task: propogator\n"),
              AllOf(HasSubstr("job.yaml:3:11: 'task' must be one of propagator, mesons, "),
                    HasSubstr(", got 'propogator'; did you mean 'propagator'?")));
  EXPECT_THAT(errors_of(gauge + op + solver + "run:\n  - {task: propagator}\n"),
              HasSubstr("'source' is missing in task propagator"));
}

TEST_F(JobTest, AllMistakesAreNamedInTheirOrder) {
  const std::string all = errors_of(
      "gauge: {start: cold, dims: [4, 3, 4, 8]}\n"
      "solver: {type: cg, toleranse: 1}\n"
      "operator: {type: wilson, mass: x, boundary: [periodic, 0, periodic, periodic]}\n"
      "run:\n  - {task: propagator, source: {type: pint, site: [0, 0, 0, 0]}}\n");
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; (end = all.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(all.substr(at, 11));
  }
  EXPECT_EQ(lines,
            (std::vector<std::string>{"job.yaml:1:", "job.yaml:2:", "job.yaml:3:", "job.yaml:3:", "job.yaml:5:"}))
      << all;
}

TEST_F(JobTest, GaugeIsAFileOrAStart) {
  EXPECT_THAT(errors_of("gauge: {file: a.lime, start: cold, dims: [4, 4, 4, 4]}\n"),
              HasSubstr("exactly one of 'file', 'start'"));
  EXPECT_THAT(errors_of("gauge: {file: a.lime, dims: [4, 4, 4, 4]}\n"),
              HasSubstr("'gauge.dims' is used only together with 'start'"));
  EXPECT_THAT(errors_of("gauge: {start: cold}\n"), HasSubstr("'gauge.dims' is missing"));
  EXPECT_THAT(errors_of("gauge: {start: cold, dims: [4, 4, 4, 4], seed: 3}\n"),
              HasSubstr("'gauge.seed' is used only with start: hot or weak"));
  EXPECT_THAT(errors_of("gauge: {start: cold, dims: [4, 4, 4, 4], verify_checksum: false}\n"),
              HasSubstr("'gauge.verify_checksum' is used only together with 'file'"));
  EXPECT_THAT(errors_of("gauge: {start: cold, dims: [4, 4, 5, 4]}\n"),
              HasSubstr("job.yaml:1:35: 'gauge.dims[2]' must be even and >= 2"));
}

TEST_F(JobTest, TaskNamesAreUnique) {
  EXPECT_THAT(errors_of(good + propagator),
              MatchesRegex("job.yaml:7:5: a task named 'propagator' exists already .*job.yaml:5:5.; "
                           "give this one a 'name'\n"));
  EXPECT_THAT(errors_of(good + "  - {task: mesons, name: propagator, from: propagator}\n"),
              HasSubstr("names are unique"));
  EXPECT_THAT(errors_of(good + "  - {task: mesons, name: a/b, from: propagator}\n"),
              HasSubstr("'name' must be at most 64 letters"));
  EXPECT_THAT(errors_of(good + "  - {task: mesons, name: pion, from: propagator}\n"), HasSubstr("'pion' is taken"));
  EXPECT_EQ(errors_of(good + "  - {task: mesons, name: again, from: propagator}\n"), "");
}

TEST_F(JobTest, ReferencesNameEarlierTasks) {
  EXPECT_THAT(errors_of(gauge + op + solver + "run:\n" + mesons + propagator),
              HasSubstr("'from' must name an earlier propagator task, got 'propagator'; there is none"));
  EXPECT_THAT(errors_of(good + "  - {task: mesons, name: b, from: mesons}\n"), HasSubstr("the job has propagator"));
  const std::string broken = "  - {task: propagator, source: {type: point, site: [0, 0, 0, -1]}}\n";
  EXPECT_THAT(errors_of(gauge + op + solver + "run:\n" + broken + mesons),
              MatchesRegex("[^\n]*'site\\[3\\]' must be >= 0, got -1\n"))
      << "one mistake, one message";
}

TEST_F(JobTest, OutputsDoNotCollide) {
  int number = 0;
  const auto save = [&number](const std::string& file) {
    return "  - {task: propagator, name: p" + std::to_string(number++) +
           ", source: {type: point, site: [0, 0, 0, 0]}, save: {file: " + file + "}}\n";
  };
  EXPECT_EQ(errors_of(good + save("p.lime") + save("a/p.lime") + save("restart.json.lime")), "");
  for (const std::string& other :
       std::vector<std::string>{"./p.lime", "a/../p.lime", "../out/p.lime", folder_.file("out/p.lime")}) {
    EXPECT_THAT(errors_of(good + save("p.lime") + save(other)),
                MatchesRegex("job.yaml:8:[0-9]+: '.*' is written twice .first at job.yaml:7:[0-9]+.; choose .*\n"))
        << other;
  }
  for (const std::string& other :
       std::vector<std::string>{"results.json", "./results.json", folder_.file("out/results.json")}) {
    EXPECT_THAT(errors_of(good + save(other)), HasSubstr("' holds the results")) << other;
  }
  EXPECT_THAT(errors_of(good + save("restart.json")),
              HasSubstr("'restart.json' is needed to continue an interrupted run"));
  EXPECT_THAT(errors_of(good + save("../job.yaml")), HasSubstr("'../job.yaml' is the job file job.yaml"));
  EXPECT_THAT(errors_of(good + save("p.lime") + save("p.lime/q.lime")), HasSubstr("cannot both be files"));
  EXPECT_THAT(errors_of(good + save("p.lime/q.lime") + save("p.lime")), HasSubstr("cannot both be files"));
  EXPECT_THAT(errors_of(good + save("folder/")), HasSubstr("must be a file, not a folder"));
  std::filesystem::create_directories(folder_.file("out/here"));
  EXPECT_THAT(errors_of(good + save("here")), HasSubstr("'here' must be a file, not a folder"));
  std::filesystem::create_directory_symlink(folder_.file("out"), folder_.file("other"));
  EXPECT_THAT(errors_of(good + save("../other/results.json")), HasSubstr("holds the results"));
}

TEST_F(JobTest, OutputsThatCannotBeWrittenAreFoundBeforehand) {
  const auto probed = [&](const std::string& file) {
    const Job job = read("gauge: {start: cold, dims: [4, 4, 4, 8], save: " + file + "}\n");
    probe_outputs(job, folder_.file("out"), errors_);
    return errors_.empty() ? std::string() : std::string(errors_.front().what());
  };
  write_bytes(folder_.file("in_the_way"), "a file");
  EXPECT_EQ(probed("a/b/c.lime"), "");
  EXPECT_EQ(probed("/dev/null"), "");
  EXPECT_THAT(probed("../in_the_way/c.lime"), HasSubstr("job.yaml:1:48: '../in_the_way/c.lime': "));
  EXPECT_THAT(probed("../in_the_way/b/c.lime"), HasSubstr("is a file, not a folder"));
  EXPECT_THAT(probed("/proc/c.lime"), HasSubstr("job.yaml:1:48: '/proc/c.lime': "));
  EXPECT_EQ(folder_.count(), 2u) << "nothing is left behind but the job and the file in the way";
}

TEST_F(JobTest, InputsAreChecked) {
  EXPECT_THAT(errors_of("gauge: {file: nowhere.lime}\n", {}, true),
              MatchesRegex("job.yaml:1:15: 'gauge.file': nowhere.lime: .*\n"));
  write_bytes(folder_.file("text.lime"), "no gauge field");
  EXPECT_THAT(errors_of("gauge: {file: text.lime}\n", {}, true), HasSubstr("job.yaml:1:15: 'gauge.file': text.lime"));
  EXPECT_THAT(errors_of(good, {"run[0].source.site=[0,0,0,8]"}, true),
              HasSubstr("--set run[0].source.site: 'source.site[3]' (t) must be >= 0 and < 8"));
  EXPECT_EQ(errors_of(good, {"run[0].source.site=[3,3,3,7]"}, true), "");
  EXPECT_THAT(errors_of(good, {"solver.precision=half", "solver.scheme=reliable"}, true),
              HasSubstr("--set solver.precision: "));
}

TEST_F(JobTest, OperatorsThatCannotBeMadeAreFoundByTheCheck) {
  const std::string twice = good + "  - {task: propagator, name: b, source: {type: point, site: [0, 0, 0, 2]}}\n";
  EXPECT_THAT(errors_of(twice, {"operator.mass=-4"}, true), MatchesRegex("--set operator.mass: the mass makes .*\n"))
      << "one mistake, one message";
  EXPECT_THAT(errors_of(good, {"operator.mass=null", "operator.kappa=1e-320"}, true),
              MatchesRegex("--set operator.kappa: .*\n"));
}

TEST_F(JobTest, HashesFollowWhatDecidesAResult) {
  const auto hashes = [&](const std::vector<std::string>& set) {
    const Job job = read(good, set);
    return std::pair(json_hash(task_json(job, job.run.at(0))), json_hash(task_json(job, job.run.at(1))));
  };
  const auto first = hashes({});
  EXPECT_EQ(first, hashes({"solver.tolerance=1.0e-10"})) << "a default that is spelled out is the same job";
  for (const char* change : {"operator.mass=0.2", "solver.tolerance=1e-9", "run[0].source.site=[1,0,0,0]"}) {
    const auto other = hashes({change});
    EXPECT_NE(first.first, other.first) << change;
    EXPECT_NE(first.second, other.second) << change << ": the correlator depends on the propagator's job";
  }
}

TEST_F(JobTest, NamesOfTheProgramsTasksAreKeptFromModules) {
  std::vector<std::string_view> own;
  for (const TaskEntry* entry : task_registry()) {
    if (entry->module == nullptr) own.emplace_back(entry->name);
  }
  EXPECT_THAT(program_tasks, ::testing::UnorderedElementsAreArray(own));
}

TEST_F(JobTest, SchemaAndHelpComeFromTheTables) {
  const Json schema = job_schema();
  EXPECT_EQ(schema["properties"]["gauge"]["properties"]["dims"]["items"]["multipleOf"], 2);
  EXPECT_EQ(schema["properties"]["operator"]["oneOf"][0]["properties"]["type"]["const"], "wilson");
  EXPECT_EQ(schema["properties"]["solver"]["oneOf"][0]["properties"]["tolerance"]["exclusiveMinimum"], 0);
  EXPECT_EQ(schema["properties"]["run"]["items"]["oneOf"].size(), task_registry().size());
  EXPECT_THAT(help_text({}), HasSubstr("bicgstab"));
  EXPECT_THAT(help_text({"operator", "wilson"}), HasSubstr("Give exactly one of mass, kappa."));
  EXPECT_THAT(help_text({"solver", "cg", "sloppy"}), HasSubstr("temporal_gauge: true | false; default false"));
  EXPECT_THAT(help_text({"gauge", "dims"}), HasSubstr("even and >= 2"));
  EXPECT_THAT(help_text({"source", "point"}), HasSubstr("count: whole number"));
  EXPECT_THAT(help_text({"source", "point"}), HasSubstr("(task solver_study only)"));
  EXPECT_THAT(help_text({"operator", "wilson"}), HasSubstr("D psi(x) = ")) << "where M is";
  EXPECT_THAT(help_text({"gauge", "file"}), HasSubstr("ILDG or SciDAC in LIME\n"));
  EXPECT_THROW(help_text({"operator", "wilsen"}), Error);
  EXPECT_THROW(help_text({"gauge", "dims", "x"}), Error);
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
  OutputFolder(folder.file("out"), job, false).finish("p", record);
  const OutputFolder again(folder.file("out"), job, false);
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
    OutputFolder first(folder.file("out"), job, false);
    TaskRecord record;
    record.key = "k1";
    record.files = {"p.lime"};
    record.correlators = {{"pion", {1.0 / 3, 2}}};
    write_bytes(first.path("p.lime").string(), "x");
    first.finish("p", record);
  }
  {
    const OutputFolder again(folder.file("out"), job, false);
    ASSERT_NE(again.finished("p", "k1"), nullptr);
    EXPECT_EQ(again.finished("p", "k1")->correlators["pion"][0], 1.0 / 3) << "numbers read back exactly";
    EXPECT_EQ(again.finished("p", "k2"), nullptr);
    EXPECT_EQ(again.finished("q", "k1"), nullptr);
    std::filesystem::rename(again.path("p.lime"), again.path("q.lime"));
    EXPECT_EQ(again.finished("p", "k1"), nullptr) << "its file is gone";
    std::filesystem::rename(again.path("q.lime"), again.path("p.lime"));
  }
  EXPECT_EQ(OutputFolder(folder.file("out"), job, true).finished("p", "k1"), nullptr) << "--force forgets";

  const auto message = [&](const Json& other) {
    try {
      OutputFolder(folder.file("out"), other, false);
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
    OutputFolder first(folder.file("out"), job(2, 6), false, single_process(), grows);
    first.keep_unfinished(
        "p", "k",
        {{"isa", "avx2"}, {"threads", 2}, {"so_far", {{"parts", {{"links", {{"file", "p.finished.1.links.lime"}}}}}}}});
    TaskRecord record;
    record.key = "k";
    first.finish("p", record, true);
    for (const char* file : {"p.finished.0.links.lime", "p.finished.1.links.lime"}) {
      write_bytes(first.path(file).string(), "x");
    }
    first.remove_beginning("p.finished.", "p");
    EXPECT_FALSE(std::filesystem::exists(first.path("p.finished.0.links.lime")));
    EXPECT_TRUE(std::filesystem::exists(first.path("p.finished.1.links.lime"))) << "the chain goes on from here";
  }
  const auto message = [&](const Json& other) {
    try {
      const OutputFolder again(folder.file("out"), other, false, single_process(), grows);
      return again.unfinished("p", "k").is_null() ? std::string("its state is gone") : std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message(job(2, 6)), "");
  EXPECT_EQ(message(job(4, 6)), "");
  EXPECT_THAT(message(job(1, 6)), HasSubstr("another job: run[0].count is 2 there but 1 here"));
  EXPECT_THAT(message(job(4, 5)), HasSubstr("another job: run[0].beta is 6.0 there but 5.0 here"));
}

TEST(OutputFolder, OneRunAtATime) {
  const TemporaryFolder folder;
  const Json job = {{"kappa", 0.1}};
  {
    const OutputFolder first(folder.file("out"), job, false);
    for (const bool force : {false, true}) {
      try {
        const OutputFolder second(folder.file("out"), job, force);
        FAIL() << "two runs in one folder";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("another run is using this folder (process " + std::to_string(getpid())));
      }
    }
    const OutputFolder elsewhere(folder.file("out2"), job, false);
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("out/.lock")));
  write_bytes(folder.file("out/.lock"), "process 1 on a host that died");
  EXPECT_NO_THROW(OutputFolder(folder.file("out"), job, false)) << "a leftover locks nothing";
}

TEST(OutputFolder, ADamagedRestartFileIsNamedWithTheWayOut) {
  const TemporaryFolder folder;
  const Json job = {{"kappa", 0.1}};
  {
    OutputFolder first(folder.file("out"), job, false);
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
      const OutputFolder again(folder.file("out"), job, false);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(file + ": damaged: ")) << text;
      EXPECT_THAT(error.what(), HasSubstr(said));
      EXPECT_THAT(error.what(), HasSubstr("choose another --out, or use --force to start from scratch"));
    }
    EXPECT_NO_THROW(OutputFolder(folder.file("out"), job, true));
  };
  write_bytes(file, good.dump());
  EXPECT_NO_THROW(OutputFolder(folder.file("out"), job, false));
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
           {"/unfinished/r", "x", "'unfinished.r.key' is missing"},
           {"/unfinished/r/so_far", Json::object(), "'unfinished.r.so_far.isa' is missing"},
           {"/unfinished/r/so_far/so_far", 1, "'unfinished.r.so_far.so_far' must be a map or a list"}}) {
    Json bad = good;
    bad[Json::json_pointer(place)] = value;
    expect_refused(bad.dump(), said);
  }
}

TEST(Progress, TimeLeftFollowsTheFallOfTheResidual) {
  // From 1 to 1e-4 in 8 s: another 8 s to 1e-8.
  EXPECT_NEAR(seconds_left(1, 1e-4, 1e-8, 8), 8, 1e-12);
  EXPECT_EQ(seconds_left(1, 1e-9, 1e-8, 8), 0);
  EXPECT_LT(seconds_left(1, 2, 1e-8, 8), 0);
  EXPECT_LT(seconds_left(1, std::numeric_limits<double>::quiet_NaN(), 1e-8, 8), 0);
  EXPECT_EQ(duration_text(7.2), "8 s");
  EXPECT_EQ(duration_text(200), "3 min 20 s");
  EXPECT_EQ(duration_text(7500), "2 h 5 min");
}

}  // namespace
}  // namespace quadrille
