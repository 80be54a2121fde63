// The module eigen: the task `eigen`; `eigen_study` is in study_task.h.
#include "modules/shared/plugin/task.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "modules/eigen/device.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/solve.h"
#include "modules/eigen/tasks/generated.h"
#include "modules/eigen/tasks/matrix_input.h"
#include "modules/eigen/tasks/ranks_task.h"
#include "modules/eigen/tasks/request.h"
#include "modules/eigen/tasks/results.h"
#include "modules/eigen/tasks/study_task.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <functional>
#include <optional>

namespace quadrille::eigen {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// Steps of refinement at most.
int refinement_of(const TaskContext& context, const Request& request) {
  const auto steps = int(context.integer("refine"));
  if (steps > 0 && request.fraction.kind() == Fraction::Kind::none) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "takes eigenvectors, and `vectors` is none", "refine");
  }
  if (steps > 0 && context.backend() == "cuda") {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, "pairs are refined on one rank, on a CPU: use --backend cpu there",
                      "refine");
  }
  return steps;
}

/// Of refined pairs: sums in double would not see what is gained.
Accuracy accuracy_of(const std::vector<Refinement>& steps) {
  Defects last = steps.front().before;
  for (const Refinement& step : steps) {
    if (step.kept) last = step.after;
  }
  return {last.residual, last.orthogonality};
}

void check_task(const TaskContext& context) {
  const Request request = request_of(context, false, *single_process());
  (void)refinement_of(context, request);
}

/// Everything that is in the host's memory at once: A and the factor of B, for a check copies of both, and what solve()
/// takes; a GPU leaves A and B as they are.
template <class T>
double bytes_of(const Request& request, bool check, bool on_gpu, bool refined) {
  if (on_gpu) return host_bytes<T>(request.head.n, request.fraction, request.b.has_value(), check);
  const double square = double(request.head.n) * double(request.head.n) * sizeof(T);
  return square * (request.b ? 2 : 1) * (check ? 2 : 1) + solve_bytes<T>(request.head.n, request.fraction, refined);
}

template <class T>
void solve_request(const TaskContext& context, const Request& request) {
  const std::int64_t n = request.head.n;
  const bool checked = context.boolean("check") && request.fraction.kind() != Fraction::Kind::none;
  const bool generalized = request.b.has_value(), on_gpu = context.backend() == "cuda";
  const int refine = refinement_of(context, request);
  const double bytes = bytes_of<T>(request, checked, on_gpu, refine > 0);
  const double gpu_bytes =
      on_gpu ? with_cuda<double>([&](auto) { return device_bytes<T>(n, request.fraction, generalized); }) : 0;
  log().info("{}: {} rows, {}{}: up to {} of memory{}", context.task_name(), n, is_complex<T> ? "complex" : "real",
             generalized ? ", generalized" : "", bytes_text(bytes),
             on_gpu ? fmt::format(", {} of the GPU's", bytes_text(gpu_bytes)) : "");
  if (on_gpu) with_cuda([&](auto) { require_device<T>(n, request.fraction, generalized); });
  require_memory(bytes, fmt::format("the {}eigenproblem of {} {} rows", generalized ? "generalized " : "", n,
                                    is_complex<T> ? "complex" : "real"));
  std::vector<T> a = blamed("a", [&] { return read_matrix<T>(request.a); }), a_kept, b, b_kept;
  if (request.b) b = blamed("b", [&] { return read_matrix<T>(*request.b); });
  if (checked && !on_gpu) {
    a_kept = a;
    b_kept = b;
  }
  const auto show = [&](const std::string& phase, double fraction) { context.progress_or_stop(phase, fraction); };
  const double began = now();
  Pairs<T> pairs;
  const auto solve_with = [&](const auto& factor, const auto& problem, const auto& solver) {
    pairs = request.fraction.kind() == Fraction::Kind::interval ? blamed("vectors", [&] { return solver(problem); })
                                                                : solver(problem);
    if (factor) pairs.phases.insert(pairs.phases.begin(), factor->made());
  };
  if (request.b) show(phase::cholesky, 0);
  if (on_gpu) {
    with_cuda([&](auto) {
      std::optional<DeviceFactor<T>> factor;
      if (request.b) blamed("b", [&] { factor.emplace(n, b.data(), n, Triangle::lower); });
      solve_with(factor,
                 DeviceProblem<T>{n, a.data(), n, Triangle::lower, factor ? &*factor : nullptr, request.fraction, show},
                 [](const DeviceProblem<T>& problem) { return solve_on_device(problem); });
    });
  } else {
    std::optional<Factor<T>> factor;
    if (request.b) blamed("b", [&] { factor.emplace(n, std::move(b), Triangle::lower); });
    solve_with(factor,
               Problem<T>{n, a.data(), n, Triangle::lower, factor ? &*factor : nullptr, request.fraction, show, refine},
               [](const Problem<T>& problem) { return solve(problem); });
  }
  const double seconds = now() - began;
  Json out = results_of(context, pairs, generalized, pairs.vectors.empty() ? 0 : pairs.range.count, bytes, seconds);
  if (on_gpu) out.update({{"device_bytes", gpu_bytes}});
  if (refine > 0) out.update({{"refinements", refinements_json(pairs.refinements)}});
  if (checked) {
    const Accuracy accuracy =
        !pairs.refinements.empty() ? accuracy_of(pairs.refinements)
        : on_gpu ? with_cuda<Accuracy>([&](auto) { return check_on_gpu(a, generalized ? &b : nullptr, pairs); })
                 : check_pairs(n, a_kept.data(), generalized ? b_kept.data() : nullptr, pairs);
    out.update({{"residual", accuracy.residual}, {"orthogonality", accuracy.orthogonality}});
  }
  std::function<std::vector<T>(IndexRange)> vectors;
  if (!pairs.vectors.empty()) {
    vectors = [&](IndexRange columns) {
      const T* const first = pairs.vectors.data() + (columns.first - pairs.range.first) * n;
      return std::vector<T>(first, first + columns.count * n);
    };
  }
  save(context, pairs, vectors);
  tell(context, pairs, seconds);
  context.result(out.dump());
}

void run_task(const TaskContext& context) {
  if (context.ranks().size() > 1) return run_on_ranks(context);
  const Request request = request_of(context, true, context.ranks());
  request.head.complex ? solve_request<std::complex<double>>(context, request)
                       : solve_request<double>(context, request);
}

constexpr const char* triangles[] = {"both", "lower", "upper", nullptr};

constexpr quadrille_parameter file =
    file_in("file",
            "HDF5 (complex: pairs in a third index, or compounds of r and i), Matrix Market, ELSI CSC or a CSR "
            "dump of CP2K, recognized by its first bytes");
constexpr quadrille_parameter dataset(const char* name) {
  return text("dataset", "in an HDF5 file: a square matrix", name);
}
constexpr quadrille_parameter generate = {
    .name = "generate",
    .type = QUADRILLE_CHOICE,
    .help =
        "a matrix for tests: random; clement, eigenvalues n - 1, n - 3, ..., 1 - n; wilkinson, with clusters; "
        "toeplitz, 2 - 2 cos(pi k / (n + 1)); graded, elements fall from 1 to 1e-12; overlap, 2^-|i - j|, positive "
        "definite",
    .choices = generated_kinds};
constexpr quadrille_parameter generated_size =
    integer("size", "rows of a generated matrix", nullptr, within(1, 2147483647));
constexpr quadrille_parameter seed = integer("seed", "seed of a generated matrix", "1", at_least(0));
constexpr quadrille_parameter complex_ = boolean("complex", "whether a generated matrix is complex", "false");
constexpr quadrille_parameter triangle = choice(
    "triangle",
    "which half of the matrix in a file is used; both: they must agree to 1e-10 of the largest element, and their "
    "average is taken",
    "both", triangles);
constexpr quadrille_parameter a_members[] = {file, dataset("A"), generate, generated_size, seed, complex_, triangle};
constexpr quadrille_parameter b_members[] = {file, dataset("B"), generate, generated_size, seed, complex_, triangle};
constexpr const char* sources[] = {"file", "generate", nullptr};
constexpr const char* const* one_source[] = {sources, nullptr};

constexpr quadrille_parameter matrix(const char* name, const char* help, const quadrille_parameter (&members)[7]) {
  quadrille_parameter out = group(name, help, members, "file");
  out.exactly_one_of = one_source;
  return out;
}

constexpr const char* which_words[] = {"all", "none", nullptr};
constexpr const char* which_excludes[] = {"first", "last", "count", "interval", nullptr};
constexpr const char* count_excludes[] = {"first", "last", "interval", nullptr};
constexpr const char* interval_excludes[] = {"first", "last", "count", nullptr};
constexpr quadrille_parameter interval_end = real("end", nullptr, nullptr);

constexpr quadrille_parameter interval_parameter() {
  quadrille_parameter out =
      list("interval", "[low, high]: those with eigenvalues in it, its ends included", nullptr, interval_end);
  out.excludes = interval_excludes;
  out.fewest = out.most = 2;
  return out;
}
constexpr quadrille_parameter vectors_members[] = {
    {.name = "which",
     .type = QUADRILLE_CHOICE,
     .help = "all; none: eigenvalues only",
     .choices = which_words,
     .excludes = which_excludes},
    integer("first", "first eigenpair to compute, counted from 1 (lowest eigenvalue); default: 1", nullptr,
            at_least(1)),
    integer("last", "last eigenpair to compute, counted from 1", nullptr, at_least(1)),
    {.name = "count",
     .type = QUADRILLE_INTEGER,
     .help = "how many eigenpairs, from the lowest eigenvalue up",
     .flags = QUADRILLE_HAS_MINIMUM,
     .minimum = 1,
     .excludes = count_excludes},
    interval_parameter()};
constexpr quadrille_parameter save_members[] = {
    required(file_out("file", "HDF5: `eigenvalues` and `eigenvectors`, row i of which is vector i"))};

constexpr const char* libraries[] = {"auto", "elpa", "scalapack", nullptr};

constexpr quadrille_parameter parameters[] = {
    required(matrix("a", "A, Hermitian", a_members)),
    matrix("b", "B, Hermitian and positive definite; default: the identity", b_members),
    group("vectors", "eigenvectors that are computed, with their eigenvalues; default: all", vectors_members, "which"),
    group("save", "eigenvalues and eigenvectors, written in double", save_members, "file"),
    choice("library", "on several ranks on CPUs: which library solves the problem; auto: ELPA where there is one",
           "auto", libraries),
    integer("refine", "steps at most that improve pairs where B is ill-conditioned; on one rank, on a CPU", "0",
            within(0, 1000)),
    boolean("check", "compute |AX - BXL| / (|A| |X| n) and |X^H B X - 1| / n, in 1-norms", "false")};

constexpr quadrille_task tasks[] = {
    {.name = "eigen",
     .help = "eigenvalues and eigenvectors of A x = lambda B x, Hermitian and dense",
     .parameters = parameters,
     .parameter_count = std::size(parameters),
     .flags = QUADRILLE_ON_RANKS,
     .check = task_function<check_task>,
     .run = task_function<run_task>},
    {.name = "eigen_study",
     .help = "times of the phases of generalized eigenproblems, beside those of LAPACK's drivers",
     .parameters = study_parameters,
     .parameter_count = study_parameter_count,
     .run = task_function<run_study>}};
constexpr const char* blocks[] = {"eigen_studies", nullptr};

constexpr quadrille_module module = module_of("eigen", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::eigen

extern "C" const quadrille_module* quadrille_module_eigen(void) { return &quadrille::eigen::module; }
