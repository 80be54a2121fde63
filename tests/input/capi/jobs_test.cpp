// Whole jobs through the C API.
#include "tests/input/capi/solving.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;

const std::string job_blocks = fmt::format("operator: {}, solver: {}", operator_words, solver_words);
const std::string job_of_host = fmt::format(
    "{{{}, run: [{{task: propagator, source: {{type: point, site: [0, 0, 0, 0]}}}}, {{task: mesons, from: "
    "propagator}}]}}",
    job_blocks);

nlohmann::json run_job(const Host& host, quadrille_gauge* gauge, const std::string& words, const std::string& folder,
                       quadrille_status wanted = QUADRILLE_DONE) {
  const char* json = nullptr;
  EXPECT_EQ(quadrille_job_run(host.context, gauge, words.c_str(), folder.c_str(), &json), wanted) << host.message();
  return std::string(json).empty() ? nlohmann::json() : nlohmann::json::parse(json);
}

TEST(CApi, AJobOnLinksOfTheHostIsThatOfItsBlocks) {
  const Host host;
  const TemporaryFolder folder;
  const std::string start = start_words();
  quadrille_gauge* gauge = host.gauge(start);
  const auto mine = run_job(host, gauge, job_of_host, folder.file("mine"));
  const auto whole =
      run_job(host, nullptr, fmt::format("{{gauge: {}, {}", start, job_of_host.substr(1)), folder.file("whole"));
  EXPECT_EQ(mine.at("correlators"), whole.at("correlators"));
  EXPECT_EQ(mine.at("gauge").at("checksum"), whole.at("gauge").at("checksum"));
  EXPECT_EQ(mine.at("gauge").at("format"), "links of the host");
  EXPECT_EQ(mine.at("solves").size(), 12u);
  // Once more in the same folder: nothing is left to do. With other links it is done again.
  EXPECT_EQ(run_job(host, gauge, job_of_host, folder.file("mine")).at("solves"), mine.at("solves"));
  quadrille_gauge* other = host.gauge(fmt::format("{{start: weak, dims: [{}]}}", fmt::join(dims, ", ")));
  EXPECT_NE(run_job(host, other, job_of_host, folder.file("mine")).at("correlators"), mine.at("correlators"));
}

TEST(CApi, SeveralConfigurationsAreForTheProgram) {
  const Host host;
  const TemporaryFolder folder;
  const char* json = nullptr;
  const std::string words = fmt::format("{{gauge: {{files: [a.lime, b.lime]}}, {}", job_of_host.substr(1));
  EXPECT_EQ(quadrille_job_run(host.context, nullptr, words.c_str(), folder.file("out").c_str(), &json),
            QUADRILLE_UNSUPPORTED);
  EXPECT_THAT(host.message(), HasSubstr("a job on several configurations runs with `quadrille run`"));
  quadrille_gauge* gauge = nullptr;
  EXPECT_EQ(quadrille_gauge_create(host.context, "{files: a.lime}", &gauge), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("give 'file'"));
}

TEST(CApi, AJobStopsWhenTheHostSaysSoAndGoesOn) {
  const Host host;
  const TemporaryFolder folder;
  quadrille_gauge* gauge = host.gauge(start_words());
  struct Stop {
    static int watch(void* user, size_t solve, size_t solves, int, double) {
      EXPECT_LE(solve, solves);
      return solve == *static_cast<size_t*>(user) ? 1 : 0;
    }
  };
  size_t stop_at = 5;
  ASSERT_EQ(quadrille_context_set_progress(host.context, &Stop::watch, &stop_at), QUADRILLE_DONE);
  const std::string source = "source:";
  std::string job = job_of_host;
  job.insert(job.find(source), "batch: 2, ");
  (void)run_job(host, gauge, job, folder.file("out"), QUADRILLE_STOPPED);
  EXPECT_THAT(host.message(), HasSubstr("stopped after 4 of 12 spin-color components"));
  stop_at = 100;
  const auto continued = run_job(host, gauge, job, folder.file("out"));
  const auto whole = run_job(host, gauge, job_of_host, folder.file("whole"));
  EXPECT_EQ(continued.at("correlators"), whole.at("correlators"));
  ASSERT_EQ(quadrille_context_set_progress(host.context, nullptr, nullptr), QUADRILLE_DONE);
}

/// The library is a guest: signals and the environment are the host's, while it works and afterwards.
TEST(CApi, SignalsAndTheEnvironmentStayTheHosts) {
  struct State {
    std::vector<struct sigaction> handlers = std::vector<struct sigaction>(32);
    std::vector<std::string> environment;
    State() {
      for (int k = 1; k < 32; ++k) (void)sigaction(k, nullptr, &handlers[std::size_t(k)]);
      for (char** one = environ; *one != nullptr; ++one) environment.emplace_back(*one);
    }
    bool is(const State& other) const {
      const auto same = [](const struct sigaction& a, const struct sigaction& b) {
        return a.sa_handler == b.sa_handler && a.sa_flags == b.sa_flags;
      };
      return environment == other.environment && std::ranges::equal(handlers, other.handlers, same);
    }
    static int compare(void* user, size_t, size_t, int, double) {
      EXPECT_TRUE(static_cast<const State*>(user)->is(State()));
      return 0;
    }
  };
  State before;
  const TemporaryFolder folder;
  {
    const Solving s;
    ASSERT_EQ(quadrille_context_set_progress(s.host.context, &State::compare, &before), QUADRILLE_DONE);
    const HostSpinor b = random_spinor(dims);
    HostSpinor x(dims);
    quadrille_report report = QUADRILLE_REPORT_INIT;
    EXPECT_EQ(s.solve(b, x, &report), QUADRILLE_DONE);
    (void)run_job(s.host, s.gauge, job_of_host, folder.file("out"));
  }
  EXPECT_TRUE(before.is(State()));
}

TEST(CApi, JobsThatCannotBeHaveACode) {
  const Host host, stranger;
  const TemporaryFolder folder;
  quadrille_gauge* gauge = host.gauge(start_words());
  const auto refused = [&](quadrille_gauge* on, const std::string& words, const char* why,
                           quadrille_status status = QUADRILLE_INVALID_INPUT) {
    (void)run_job(host, on, words, folder.file("out"), status);
    EXPECT_THAT(host.message(), HasSubstr(why));
  };
  refused(nullptr, job_of_host, "job:1:1: 'gauge' is missing: the tasks need links");
  refused(gauge, "{gauge: {start: cold, dims: [4, 4, 4, 8]}, run: []}", "leave out 'gauge'");
  refused(gauge, "{run: [{task: propagater}]}", "job:1:15: ");
  refused(gauge,
          fmt::format("{{{}, run: [{{task: propagator, source: {{type: point, site: [9, 0, 0, 0]}}}}]}}", job_blocks),
          "job:1:");
  refused(stranger.gauge(start_words()), job_of_host, "the gauge field belongs to another context");
  EXPECT_EQ(quadrille_job_run(host.context, gauge, job_of_host.c_str(), nullptr, nullptr), QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(quadrille_job_run(host.context, gauge, nullptr, "out", nullptr), QUADRILLE_INVALID_INPUT);
  (void)run_job(host, gauge, job_of_host, folder.file("out"));
  refused(gauge,
          fmt::format("{{{}, run: [{{task: propagator, source: {{type: point, site: [1, 0, 0, 0]}}}}]}}", job_blocks),
          "site", QUADRILLE_FILE_ERROR);
  const std::string few = fmt::format(
      "{{operator: {}, solver: {{type: cg, max_iterations: 2}}, run: [{{task: propagator, source: {{type: point, site: "
      "[0, 0, 0, 0]}}}}]}}",
      operator_words);
  EXPECT_EQ(run_job(host, gauge, few, folder.file("few"), QUADRILLE_NOT_CONVERGED).at("solves").size(), 12u);
}

}  // namespace
}  // namespace quadrille
