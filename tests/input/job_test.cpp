// Jobs: what a good one resolves to, and the place and words of every mistake.
#include "input/job/job.h"
#include "input/job/blocks.h"
#include "input/job/document.h"
#include "input/job/help_search.h"
#include "input/job/overrides.h"
#include "input/job/schema.h"
#include "input/run/outputs.h"
#include "input/run/progress.h"
#include "modules/shared/plugin/results_blocks.h"
#include "tests/input/files/lime_testing.h"

#include <limits>

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
  EXPECT_EQ(schema[0]["type"][0], "string");
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
              HasSubstr("job.yaml:2:18: 'type' must be one of wilson, twisted_mass, clover, twisted_clover, got "
                        "'wilsen'; did you mean 'wilson'?"));
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

TEST_F(JobTest, AWrongTypeDoesNotHideTheBlocksOtherMistakes) {
  const std::string found =
      errors_of(gauge + "operator: {type: wilsn, kapa: 0.1, boundary: [periodic, periodic, antiperiodic]}\n" + solver +
                "run:\n" + propagator + mesons);
  EXPECT_THAT(found, HasSubstr("did you mean 'wilson'?"));
  EXPECT_THAT(found, HasSubstr("unknown key 'kapa' in operator; did you mean 'kappa'?"));
  EXPECT_THAT(found, HasSubstr("'boundary' must be"));
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 3) << found;
  EXPECT_THAT(
      errors_of("gauge: {file: a.lime, start: cold}\n"),
      MatchesRegex(
          "job.yaml:1:[0-9]+: gauge takes exactly one of 'file', 'files', 'start'; 'file' is already [^\n]*\n"));
}

TEST_F(JobTest, AFileThatIsNotThereHasItsOrigin) {
  EXPECT_EQ(errors_of("gauge:\n  file: a.lime   # made by: quadrille run b.yaml; 8^4\n", {}, true),
            "job.yaml:2:9: 'gauge.file': a.lime: no such file (made by: quadrille run b.yaml)\n");
  EXPECT_EQ(errors_of("gauge:\n  file: a.lime   # mine\n", {}, true),
            "job.yaml:2:9: 'gauge.file': a.lime: no such file\n");
  write_bytes(folder_.file("there.lime"), "text");
  EXPECT_THAT(errors_of("gauge:\n  file: there.lime  # made by: me\n", {}, true), ::testing::Not(HasSubstr("made by")));
}

TEST_F(JobTest, GaugeIsAFileOrAStart) {
  EXPECT_THAT(errors_of("gauge: {file: a.lime, start: cold, dims: [4, 4, 4, 4]}\n"),
              HasSubstr("exactly one of 'file', 'files', 'start'"));
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
  EXPECT_EQ(errors_of(good + "  - {task: mesons, name: pion, from: propagator}\n"), "");
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
  EXPECT_THAT(help_text({"gauge", "file"}), HasSubstr("ILDG or SciDAC in LIME, NERSC archive, MILC v5\n"));
  EXPECT_THROW(help_text({"operator", "wilsen"}), Error);
  EXPECT_THROW(help_text({"gauge", "dims", "x"}), Error);
}

TEST_F(JobTest, HelpFindsAnyWordOfATable) {
  for (const auto& [word, said] : std::vector<std::pair<std::string, std::string>>{
           {"wilson", "operator wilson: "},
           {"bicgstab", "solver bicgstab: BiCGstab applied directly to M\n"},
           {"BiCGstab", "solver bicgstab: "},
           {"point", "source point: "},
           {"solver_study", "task solver_study: "},
           {"multishift", "task shifted_solves: "},
           {"kappa",
            "in operator wilson, operator twisted_mass, operator clover, operator twisted_clover:\n  kappa: real "
            "number"},
           {"temporal_gauge", "in solver cg sloppy, solver bicgstab sloppy"},
           {"antiperiodic", "boundary: four of periodic | antiperiodic"},
           {"reliable", "scheme: "},
           {"generate", "quadrille bench generate: update of all links"},
           {"generate", "task generate: "},
           {"links", "quadrille bench links: "},
           {"beta", "in task generate:\n  beta: "}}) {
    EXPECT_THAT(help_text({word}), HasSubstr(said)) << word;
  }
  EXPECT_EQ(help_text({"solver", "study"}), help_text({"task", "solver_study"}));
  EXPECT_THAT(help_text({"operator", "kappa"}), HasSubstr("kappa: real number"));
  EXPECT_THAT(help_text({"source", "point"}), HasSubstr("(task solver_study only)")) << "`count`";
}

TEST_F(JobTest, HelpSaysWhatIsNotThereYet) {
  const auto said = [](const std::vector<std::string>& words) -> std::string {
    try {
      return help_text(words);
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(said({"staggered"}),
            "'staggered' is not implemented in this version; available operators: wilson, twisted_mass, clover, "
            "twisted_clover");
  EXPECT_EQ(said({"operator", "staggered"}), said({"staggered"}));
  EXPECT_EQ(said({"domain", "wall"}),
            "'domain wall' is not implemented in this version; available operators: wilson, twisted_mass, clover, "
            "twisted_clover");
  EXPECT_EQ(said({"domain-wall"}), said({"domain", "wall"}));
  EXPECT_EQ(said({"GMRES"}),
            "'gmres' is not implemented in this version; available solvers: cg, bicgstab, bicgstab_l, gcr, mr, "
            "multigrid");
  EXPECT_THAT(said({"hmc"}), HasSubstr("'hmc' is not implemented in this version; available tasks: propagator, "));
  for (const std::string& term : terms_not_there_yet()) {
    EXPECT_THAT(said({term}), HasSubstr("'" + term + "' is not implemented")) << "it is there: take it off the list";
  }
  EXPECT_EQ(said({"kapa"}), "there is no 'kapa'; did you mean 'kappa'?");
  EXPECT_THAT(said({"qqqqqqq"}), HasSubstr("there is no block 'qqqqqqq'; there are gauge, "));
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
