// Calls of the C API: solves, words, reports, callbacks, and every way to get them wrong.
#include "dirac/registry.h"
#include "dirac/systems/even_odd.h"
#include "input/capi/words.h"
#include "input/job/blocks.h"
#include "solvers/driver.h"
#include "tests/input/capi/solving.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

#ifndef QUADRILLE_TEST_GPU
TEST(CApi, AChildOfForkGoesOnWithTheSameBits) {
  const Host host;  // with two threads
  quadrille_gauge* gauge = host.gauge("{start: weak, seed: 7, dims: [4, 4, 4, 8]}");
  quadrille_solver* solver = host.solver(host.op(gauge, operator_words), solver_words);
  const HostSpinor b = random_spinor({4, 4, 4, 8});
  HostSpinor x({4, 4, 4, 8}), of_child({4, 4, 4, 8});
  const void* from = b.data.data();
  void *to = x.data.data(), *to_child = of_child.data.data();
  double plaquettes[7], again[7];
  ASSERT_EQ(quadrille_gauge_plaquettes(gauge, plaquettes), QUADRILLE_DONE);
  ASSERT_EQ(quadrille_solver_solve(solver, "", &from, &to, 1, nullptr), QUADRILLE_DONE) << host.message();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    quadrille_gauge* fresh = nullptr;
    const bool done =
        quadrille_gauge_create(host.context, "{start: weak, seed: 7, dims: [4, 4, 4, 8]}", &fresh) == QUADRILLE_DONE &&
        quadrille_gauge_plaquettes(fresh, again) == QUADRILLE_DONE &&
        quadrille_solver_solve(solver, "", &from, &to_child, 1, nullptr) == QUADRILLE_DONE;
    _exit(done && std::equal(plaquettes, plaquettes + 7, again) && of_child.data == x.data ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

TEST(CApi, SolvesWithTheBitsOfTheLibrarysOwnSolve) {
  const Host host;
  const Lattice lattice(dims);
  const HostLinks links = hot_start(lattice, next_seed());
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims), wanted(dims);
  quadrille_gauge* gauge = host.gauge(new_links(dims), LinkHost<double>(links, {}).in());
  quadrille_solver* solver = host.solver(host.op(gauge, operator_words), solver_words);
  quadrille_report report = QUADRILLE_REPORT_INIT;
  const void* from = b.data.data();
  void* to = x.data.data();
  ASSERT_EQ(quadrille_solver_solve(solver, "", &from, &to, 1, &report), QUADRILLE_DONE) << host.message();

  const auto op = capi::read_words(operator_block(), operator_words);
  const auto store = std::make_shared<GaugeStore>(lattice, links, backend());
  const EvenOddSystem system(find_operator("wilson").make(store, *op));
  SystemSolver own(system, solver_spec(*capi::read_words(solver_block(), solver_words)));
  Field own_x(system.full_desc()), own_b(system.full_desc());
  import_spinor(own_b, b);
  const SolveReport own_report = own.solve(own_x, own_b);
  export_spinor(wanted, own_x);
  EXPECT_EQ(x.data, wanted.data);
  EXPECT_EQ(report.iterations, own_report.iterations);
  EXPECT_EQ(report.reliable_updates, own_report.reliable_updates);
  EXPECT_EQ(report.residual, own_report.residual);
  EXPECT_EQ(report.flops, own_report.flops);
  EXPECT_EQ(report.converged, 1);
  EXPECT_EQ(report.stop_reason, QUADRILLE_CONVERGED);
  EXPECT_EQ(report.host_bytes, 2 * b.data.size() * sizeof(Complex));
  EXPECT_GT(report.solve_seconds, 0);
  EXPECT_GT(report.import_seconds, 0);
  EXPECT_GT(report.export_seconds, 0);

  const char* json = nullptr;
  ASSERT_EQ(quadrille_solver_json(solver, &json), QUADRILLE_DONE);
  const auto solves = nlohmann::json::parse(json);
  ASSERT_EQ(solves.size(), 1u);
  EXPECT_EQ(solves[0].at("iterations"), report.iterations);
  EXPECT_EQ(solves[0].at("sloppy").at("precision"), "half");
  EXPECT_FALSE(solves[0].at("kernels").empty());
  EXPECT_FALSE(solves[0].contains("task"));
}

TEST(CApi, TheTrueResidualIsThatOfTheHostsArrays) {
  const Solving s;
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  quadrille_report report = QUADRILLE_REPORT_INIT;
  ASSERT_EQ(s.solve(b, x, &report), QUADRILLE_DONE) << s.host.message();
  EXPECT_LE(report.residual, 1e-11);
  EXPECT_NEAR(s.residual(b, x), report.residual, 1e-14);
  HostSpinor in_place = b;
  ASSERT_EQ(s.solve(in_place, in_place, nullptr), QUADRILLE_DONE);
  EXPECT_EQ(in_place.data, x.data);
}

TEST(CApi, ManyRightHandSidesAreSolvedAsEachAlone) {
  const Solving s;
  const std::vector<HostSpinor> b = {random_spinor(dims), HostSpinor(dims), random_spinor(dims)};
  std::vector<HostSpinor> x(3, HostSpinor(dims));
  const void* from[3];
  void* to[3];
  for (std::size_t k = 0; k < 3; ++k) {
    from[k] = b[k].data.data();
    to[k] = x[k].data.data();
  }
  quadrille_report reports[3] = {QUADRILLE_REPORT_INIT};
  ASSERT_EQ(quadrille_solver_solve(s.solver, "{}", from, to, 3, reports), QUADRILLE_DONE) << s.host.message();
  for (std::size_t k = 0; k < 3; ++k) {
    HostSpinor alone = random_spinor(dims);  // what stands there plays no part
    quadrille_report report = QUADRILLE_REPORT_INIT;
    ASSERT_EQ(s.solve(b[k], alone, &report), QUADRILLE_DONE);
    EXPECT_EQ(alone.data, x[k].data);
    EXPECT_EQ(reports[k].iterations, report.iterations);
    EXPECT_EQ(reports[k].struct_size, sizeof(quadrille_report));
  }
  EXPECT_EQ(reports[1].iterations, 0);  // b = 0
  EXPECT_EQ(x[1].data, HostSpinor(dims).data);
}

TEST(CApi, AnInitialGuessSavesIterationsAndKeepsTheTarget) {
  const Solving s;
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  quadrille_report whole = QUADRILLE_REPORT_INIT, rest = QUADRILLE_REPORT_INIT, none = QUADRILLE_REPORT_INIT;
  ASSERT_EQ(s.solve(b, x, &whole), QUADRILLE_DONE);
  HostSpinor near = x;
  const HostSpinor noise = random_spinor(dims);
  for (std::size_t i = 0; i < near.data.size(); ++i) near.data[i] += 1e-6 * std::abs(x.data[i]) * noise.data[i];
  ASSERT_EQ(s.solve(b, near, &rest, "{initial_guess: true}"), QUADRILLE_DONE) << s.host.message();
  EXPECT_LT(rest.iterations, 0.7 * whole.iterations);
  EXPECT_GT(rest.iterations, 0);
  EXPECT_LE(s.residual(b, near), 1.01e-11);
  HostSpinor same = x;
  ASSERT_EQ(s.solve(b, same, &none, "{initial_guess: true}"), QUADRILLE_DONE);
  EXPECT_EQ(none.iterations, 0);
  EXPECT_NEAR(none.residual, whole.residual, 1e-14);
  EXPECT_LT(relative_distance(same, x), 1e-15);
  HostSpinor far = random_spinor(dims);  // worse than zero: |b - M x0| > |b|
  for (Complex& number : far.data) number *= 100;
  ASSERT_EQ(s.solve(b, far, &rest, "{initial_guess: true}"), QUADRILLE_DONE) << s.host.message();
  EXPECT_LE(s.residual(b, far), 1.01e-11);
  far.data[5] = std::nan("");
  EXPECT_EQ(s.solve(b, far, &rest, "{initial_guess: true}"), QUADRILLE_NUMERICAL);
  EXPECT_THAT(s.host.message(), HasSubstr("the initial guess of a solve is not finite"));
}

// The links that an update has refused stay, as its document says; a host that goes on has not read its status.
TEST(CApi, ASolveOnLinksThatAreNotFiniteBlamesTheLinks) {
  for (const char* how :
       {"{type: cg, tolerance: 1e-10}", "{type: bicgstab, tolerance: 1e-10, sloppy: {precision: half}}"}) {
    const Solving s(how);
    const Lattice lattice(dims);
    HostLinks links = hot_start(lattice, next_seed());
    links.link(lattice.site({3, 1, 0, 2}), 2)[4] = std::nan("");
    const LinkHost<double> arrays(links, {});
    const auto in = arrays.in();
    ASSERT_EQ(quadrille_gauge_update(s.gauge, "", in.data(), in.size()), QUADRILLE_NUMERICAL);
    const HostSpinor b = random_spinor(dims);
    for (const char* words : {"", "{initial_guess: true}"}) {
      HostSpinor x = random_spinor(dims);
      EXPECT_EQ(s.solve(b, x, nullptr, words), QUADRILLE_NUMERICAL);
      EXPECT_EQ(s.host.message(), "the links are not finite: the first such one is at site (3,1,0,2), direction z");
    }
    const TemporaryFolder folder;
    const char* json = nullptr;
    const std::string job = std::string("{operator: ") + operator_words + ", solver: " + how +
                            ", run: [{task: propagator, source: {type: point, site: [0, 0, 0, 0]}}]}";
    EXPECT_EQ(quadrille_job_run(s.host.context, s.gauge, job.c_str(), folder.file("out").c_str(), &json),
              QUADRILLE_NUMERICAL);
    EXPECT_THAT(s.host.message(), HasSubstr("the links are not finite: the first such one is at site (3,1,0,2)"));
  }
}

TEST(CApi, AnUnfinishedSolveIsAStatusWithItsSolution) {
  const Solving s("{type: cg, scheme: uniform, tolerance: 1e-13, max_iterations: 3}");
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  quadrille_report report = QUADRILLE_REPORT_INIT;
  EXPECT_EQ(s.solve(b, x, &report), QUADRILLE_NOT_CONVERGED);
  EXPECT_THAT(s.host.message(), HasSubstr("solve 0: the residual is"));
  EXPECT_EQ(report.stop_reason, QUADRILLE_MAX_ITERATIONS);
  EXPECT_EQ(report.converged, 0);
  EXPECT_EQ(report.iterations, 3);
  EXPECT_NEAR(s.residual(b, x), report.residual, 1e-14);
}

TEST(CApi, ReportsOfOtherVersions) {
  const Solving s;
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  struct Later {
    quadrille_report known = QUADRILLE_REPORT_INIT;
    double added = 42;
  } later[2];
  later[0].known.struct_size = later[1].known.struct_size = sizeof(Later);
  const void* from[2] = {b.data.data(), b.data.data()};
  HostSpinor other(dims);
  void* to[2] = {x.data.data(), other.data.data()};
  ASSERT_EQ(quadrille_solver_solve(s.solver, "", from, to, 2, &later[0].known), QUADRILLE_DONE) << s.host.message();
  for (const Later& one : later) {
    EXPECT_GT(one.known.iterations, 0);
    EXPECT_EQ(one.known.struct_size, sizeof(Later));
    EXPECT_EQ(one.added, 42);
  }
  quadrille_report forgotten{};
  EXPECT_EQ(s.solve(b, x, &forgotten), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(s.host.message(), HasSubstr("QUADRILLE_REPORT_INIT"));
}

TEST(CApi, NewLinksAreSeenByOperatorsAndSolvers) {
  const Solving s;
  const HostLinks links = hot_start(Lattice(dims), next_seed());
  const LinkHost<double> arrays(links, {false, true, false, false});
  const auto in = arrays.in();
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  ASSERT_EQ(s.solve(b, x, nullptr), QUADRILLE_DONE);
  ASSERT_EQ(quadrille_gauge_update(s.gauge, "{order: milc}", in.data(), 1), QUADRILLE_DONE) << s.host.message();
  EXPECT_GT(s.residual(b, x), 0.01);
  ASSERT_EQ(s.solve(b, x, nullptr), QUADRILLE_DONE) << s.host.message();
  const auto mx = reference::wilson(links, {.mass = 0.1, .boundary = {0, 0, 0, 1}}, x, false);
  EXPECT_LE(relative_distance(mx, b), 1.01e-11);
}

TEST(CApi, FilesAreThoseOfJobs) {
  const Host host;
  const TemporaryFolder folder;
  const std::string file = fmt::format("{{file: '{}'}}", folder.file("a.lime"));
  quadrille_gauge* made = host.gauge(start_words());
  ASSERT_EQ(quadrille_gauge_save(made, file.c_str()), QUADRILLE_DONE) << host.message();
  quadrille_gauge* read = host.gauge(file);
  double first[7], second[7];
  int extents[4];
  ASSERT_EQ(quadrille_gauge_plaquettes(made, first), QUADRILLE_DONE);
  ASSERT_EQ(quadrille_gauge_plaquettes(read, second), QUADRILLE_DONE);
  ASSERT_EQ(quadrille_gauge_dims(read, extents), QUADRILLE_DONE);
  EXPECT_THAT(first, ::testing::ElementsAreArray(second));
  EXPECT_THAT(extents, ::testing::ElementsAreArray(dims));
  const char* json = nullptr;
  ASSERT_EQ(quadrille_gauge_json(read, &json), QUADRILLE_DONE);
  const auto said = nlohmann::json::parse(json);
  EXPECT_EQ(said.at("plaquette"), first[0]);
  EXPECT_EQ(said.at("checksum").at("verdict"), "ok");
  quadrille_gauge* none = nullptr;
  EXPECT_EQ(quadrille_gauge_create(host.context, "{file: nowhere.lime}", &none), QUADRILLE_FILE_ERROR);
  EXPECT_THAT(host.message(), HasSubstr("nowhere.lime"));
}

TEST(CApi, WordsHaveTheErrorsOfJobs) {
  const Host host;
  quadrille_gauge* gauge = host.gauge(start_words());
  quadrille_operator* op = nullptr;
  EXPECT_EQ(quadrille_operator_create(gauge, "{type: wilson,\n  masss: 0.1, kappa: -1}", &op), QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(op, nullptr);
  EXPECT_THAT(host.message(), HasSubstr("operator:2:3: unknown key 'masss'"));
  EXPECT_THAT(host.message(), HasSubstr("did you mean 'mass'"));
  EXPECT_THAT(host.message(), HasSubstr("operator:2:22: 'kappa' must be > 0, got -1"));
  EXPECT_THAT(host.message(), HasSubstr("'boundary' is missing"));
  EXPECT_EQ(quadrille_operator_create(gauge, "{type: wilsom}", &op), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("operator:1:8: "));
  EXPECT_EQ(quadrille_operator_create(gauge, "{type: wilson", &op), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("operator:2:1: not valid YAML"));
  op = host.op(gauge, operator_words);
  quadrille_solver* solver = nullptr;
  EXPECT_EQ(quadrille_solver_create(op, "{type: bicgstab, tolerance: 2}", &solver), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("solver:1:29: 'tolerance'"));
  EXPECT_EQ(quadrille_solver_create(op, nullptr, &solver), QUADRILLE_INVALID_INPUT);
  quadrille_context* context = nullptr;
  EXPECT_EQ(quadrille_context_create("{backend: abacus}", &context), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_message(nullptr), HasSubstr("context:1:11: "));
  EXPECT_EQ(context, nullptr);
}

TEST(CApi, HelpAndSchemaAreThoseOfTheProgram) {
  const Host host;
  const char* text = nullptr;
  ASSERT_EQ(quadrille_help(host.context, "solver bicgstab", &text), QUADRILLE_DONE);
  EXPECT_THAT(text, HasSubstr("tolerance: real number"));
  for (const char* topic : {"context", "links", "spinors"}) {
    ASSERT_EQ(quadrille_help(host.context, topic, &text), QUADRILLE_DONE) << host.message();
    EXPECT_THAT(text, HasSubstr(topic));
  }
  EXPECT_THAT(text, HasSubstr("initial_guess: true | false"));
  EXPECT_EQ(quadrille_help(host.context, "solver bicgstap", &text), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("did you mean"));
  ASSERT_EQ(quadrille_schema(host.context, &text), QUADRILLE_DONE);
  EXPECT_TRUE(nlohmann::json::parse(text).at("properties").contains("solver"));
}

struct Heard {
  std::vector<std::string> said;
  std::vector<int> iterations;
  int stop_at = std::numeric_limits<int>::max();
  quadrille_context* context = nullptr;
  quadrille_status within = QUADRILLE_DONE;
};

void hear(void* user, quadrille_log_level level, const char* text) {
  static_cast<Heard*>(user)->said.push_back(std::to_string(int(level)) + " " + text);
}

int watch(void* user, size_t, size_t, int iteration, double) {
  auto& heard = *static_cast<Heard*>(user);
  heard.iterations.push_back(iteration);
  const char* text = nullptr;
  heard.within = quadrille_help(heard.context, "", &text);
  return iteration >= heard.stop_at ? 1 : 0;
}

TEST(CApi, CallbacksHearAndStop) {
  const Solving s;
  Heard heard;
  heard.context = s.host.context;
  ASSERT_EQ(quadrille_context_set_log(s.host.context, QUADRILLE_LOG_WARNING, hear, &heard), QUADRILLE_DONE);
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  (void)s.host.solver(s.op, "{type: cg, scheme: uniform, sloppy: {precision: half}}");
  EXPECT_EQ(::testing::internal::GetCapturedStderr() + ::testing::internal::GetCapturedStdout(), "");
  EXPECT_THAT(heard.said, ::testing::ElementsAre("3 'solver.sloppy' is not used by scheme: uniform"));

  ASSERT_EQ(quadrille_context_set_progress(s.host.context, watch, &heard), QUADRILLE_DONE);
  const HostSpinor b = random_spinor(dims), before = random_spinor(dims);
  HostSpinor x = before;
  quadrille_report report = QUADRILLE_REPORT_INIT;
  ASSERT_EQ(s.solve(b, x, &report), QUADRILLE_DONE);
  EXPECT_EQ(heard.iterations.size(), std::size_t(report.iterations));
  EXPECT_EQ(heard.within, QUADRILLE_INVALID_INPUT);  // and no deadlock
  heard.stop_at = 5;
  x = before;
  EXPECT_EQ(s.solve(b, x, &report), QUADRILLE_STOPPED);
  EXPECT_THAT(s.host.message(), HasSubstr("after 5 iterations"));
  EXPECT_EQ(x.data, before.data);
  heard.stop_at = std::numeric_limits<int>::max();
  EXPECT_EQ(s.solve(b, x, &report), QUADRILLE_DONE);  // the solver goes on as before
  ASSERT_EQ(quadrille_context_set_progress(s.host.context, nullptr, nullptr), QUADRILLE_DONE);
}

TEST(CApi, HandlesThatAreNoneHaveACode) {
  const Solving s;
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  const void* from = b.data.data();
  void* to = x.data.data();
  const auto refused = [&](quadrille_solver* handle, const char* why) {
    EXPECT_EQ(quadrille_solver_solve(handle, "", &from, &to, 1, nullptr), QUADRILLE_INVALID_HANDLE);
    EXPECT_THAT(quadrille_message(nullptr), HasSubstr(std::string("the solver ") + why));
  };
  refused(nullptr, "is null");
  refused(reinterpret_cast<quadrille_solver*>(s.op), "is a handle of another kind");
  refused(reinterpret_cast<quadrille_solver*>(&x), "is not a handle");
  quadrille_solver* gone = s.host.solver(s.op, solver_words);
  ASSERT_EQ(quadrille_solver_destroy(gone), QUADRILLE_DONE);
  refused(gone, "has been destroyed");
  EXPECT_EQ(quadrille_solver_destroy(gone), QUADRILLE_INVALID_HANDLE);
  quadrille_solver* next = s.host.solver(s.op, solver_words);  // in its slot, with another generation
  EXPECT_NE(next, gone);
  refused(gone, "has been destroyed");
  // What a solver is made from lives on in it.
  ASSERT_EQ(quadrille_gauge_destroy(s.gauge), QUADRILLE_DONE);
  ASSERT_EQ(quadrille_operator_destroy(s.op), QUADRILLE_DONE);
  EXPECT_EQ(quadrille_solver_solve(next, "", &from, &to, 1, nullptr), QUADRILLE_DONE) << s.host.message();
  quadrille_solver* left = nullptr;
  {
    const Solving other;
    left = other.solver;
  }
  refused(left, "has been destroyed");  // with its context
  EXPECT_STREQ(quadrille_message(nullptr), "the solver has been destroyed");
}

TEST(CApi, LinksThatAreCutOtherwiseAreRefused) {
  const Solving s;
  std::vector<Complex> array(std::size_t(volume(dims)) * 36);
  void* const out[] = {array.data()};
  const auto get = [&](const std::string& words) { return quadrille_gauge_to_memory(s.gauge, words.c_str(), out, 1); };
  EXPECT_EQ(get(fmt::format("{{part: [{}]}}", fmt::join(dims, ", "))), QUADRILLE_DONE);
  EXPECT_EQ(get(fmt::format("{{part: [{}, {}, {}, {}]}}", dims[0] / 2, dims[1], dims[2], 2 * dims[3])),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(s.host.message(), HasSubstr("links:1:8: 'part': the arrays must hold"));
}

TEST(CApi, PropagatorsInWordsThatCannotBeAreRefusedBeforeTheFileIsRead) {
  const Solving s;
  std::vector<HostSpinor> columns(12, HostSpinor(dims));
  std::vector<void*> to;
  for (HostSpinor& column : columns) to.push_back(column.data.data());
  const auto refused = [&](quadrille_status status, const char* words, std::size_t count, const char* why) {
    EXPECT_EQ(quadrille_propagator_read(s.gauge, "never.lime", words, to.data(), count), status);
    EXPECT_THAT(s.host.message(), HasSubstr(why));
  };
  refused(QUADRILLE_FILE_ERROR, "{}", 12, "never.lime");
  refused(QUADRILLE_INVALID_INPUT, "{}", 11, "12 columns, not 11");
  refused(QUADRILLE_INVALID_INPUT, "{subset: even}", 12, "spinors:1:10: a propagator needs subset: full");
  refused(QUADRILLE_UNSUPPORTED, "{normalization: kappa}", 12, "normalization of the mass");
  refused(QUADRILLE_UNSUPPORTED, "{basis: ukqcd}", 12, "give `basis: degrand_rossi`");
  to[7] = static_cast<char*>(to[7]) + 4;
  refused(QUADRILLE_INVALID_INPUT, "{}", 12, "columns[7] is not aligned");
  to[7] = nullptr;
  refused(QUADRILLE_INVALID_INPUT, "{}", 12, "columns[7] is a null pointer");
}

TEST(CApi, ArraysThatCannotBeHaveACode) {
  const Solving s;
  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  const void* from = b.data.data();
  void* to = x.data.data();
  const auto refused = [&](const char* words, const void* const* in, void* const* out, const char* why) {
    EXPECT_EQ(quadrille_solver_solve(s.solver, words, in, out, 1, nullptr), QUADRILLE_INVALID_INPUT) << why;
    EXPECT_THAT(s.host.message(), HasSubstr(why));
  };
  refused("", nullptr, &to, "the list of b is a null pointer");
  const void* null = nullptr;
  refused("", &null, &to, "b[0] is a null pointer");
  const void* odd = static_cast<const char*>(from) + 4;
  refused("", &odd, &to, "b[0] is not aligned");
  refused("{subset: even}", &from, &to, "is solved with subset: full");
  refused("{subset: even, sites: even_odd}", &from, &to, "spinors:1:23: 'sites' is for full arrays");
  refused("{bytes: 1000}", &from, &to, "each array must have 98304 bytes, not 1000");
  refused("{basis: mine}", &from, &to, "spinors:1:9: 'basis' must be one of degrand_rossi, ukqcd, openqcd");
  HostSpinor nan = b;
  nan.data[77] = {0, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(s.solve(nan, x, nullptr), QUADRILLE_NUMERICAL);
  EXPECT_EQ(quadrille_operator_apply(s.op, QUADRILLE_HOP, "{}", &from, &to, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(s.host.message(), HasSubstr("subset: even or odd"));
  EXPECT_EQ(quadrille_operator_apply(s.op, quadrille_product(99), "{}", &from, &to, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(quadrille_gauge_update(s.gauge, "{order: qdp}", &from, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(s.host.message(), HasSubstr("four arrays (one for each mu) of links, not 1"));
  quadrille_gauge* gauge = nullptr;
  EXPECT_EQ(quadrille_gauge_from_memory(s.host.context, "{}", &from, 1, &gauge), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(s.host.message(), HasSubstr("'dims' is missing"));
  EXPECT_EQ(quadrille_gauge_from_memory(s.host.context, "{dims: [3, 4, 4, 4]}", &from, 1, &gauge),
            QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(quadrille_gauge_create(s.host.context, "{start: cold, dims: [4, 4, 4, 4]}", nullptr),
            QUADRILLE_INVALID_INPUT);
}

/// Lists that are made once for the process, by whoever asks first. In a process of its own (ctest) they are new.
TEST(CApi, ListsOfTwoThreadsAreWhole) {
  std::vector<std::string> schemas(2), helps(2);
  const auto ask = [&](std::size_t k) {
    const Host host(one_thread);
    const char *schema = nullptr, *help = nullptr, *json = nullptr;
    EXPECT_EQ(quadrille_schema(host.context, &schema), QUADRILLE_DONE) << host.message();
    schemas[k] = schema;
    EXPECT_EQ(quadrille_help(host.context, "", &help), QUADRILLE_DONE) << host.message();
    helps[k] = help;
    EXPECT_EQ(quadrille_job_run(host.context, nullptr, "{run: [{task: mesons}]}", "nowhere", &json),
              QUADRILLE_INVALID_INPUT);
  };
  std::thread other([&] { ask(1); });
  ask(0);
  other.join();
  EXPECT_EQ(schemas[0], schemas[1]);
  EXPECT_EQ(helps[0], helps[1]);
  EXPECT_THAT(schemas[0], AllOf(HasSubstr("\"spinors\""), HasSubstr("\"context\""), HasSubstr("\"solver_study\"")));
}

/// Solves and products in contexts of their own, at the same time, have the bits that they have alone.
TEST(CApi, ContextsOfTwoThreadsDoNotMeet) {
  const std::string start = start_words();
  const HostSpinor b = random_spinor(dims);
  const auto work = [&](HostSpinor& x, int& iterations, bool more) {
    for (int round = 0; round < (more ? 5 : 1); ++round) {
      const Host host(one_thread);
      quadrille_solver* solver = host.solver(host.op(host.gauge(start), operator_words), solver_words);
      const void* from = b.data.data();
      void* to = x.data.data();
      quadrille_report report = QUADRILLE_REPORT_INIT;
      ASSERT_EQ(quadrille_solver_solve(solver, "", &from, &to, 1, &report), QUADRILLE_DONE) << host.message();
      iterations = report.iterations;
    }
  };
  HostSpinor alone(dims), first(dims), second(dims);
  int wanted = 0, one = 0, two = 0;
  work(alone, wanted, false);
  std::thread other([&] { work(second, two, true); });
  work(first, one, true);
  other.join();
  EXPECT_EQ(first.data, alone.data);
  EXPECT_EQ(second.data, alone.data);
  EXPECT_EQ(one, wanted);
  EXPECT_EQ(two, wanted);
}

}  // namespace
}  // namespace quadrille
