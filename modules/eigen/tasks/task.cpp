// The module eigen: the task `eigen`; `eigen_study` is in study_task.h.
#include "modules/shared/plugin/task.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "modules/eigen/device.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/solve.h"
#include "modules/eigen/tasks/generated.h"
#include "modules/eigen/tasks/matrix_input.h"
#include "modules/eigen/tasks/study_task.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace quadrille::eigen {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

MatrixInput input_of(const TaskContext& context, const std::string& parameter, const std::string& name) {
  MatrixInput out;
  out.name = name;
  const auto path = [&](const char* member) { return parameter + "." + member; };
  const std::string half = context.text(path("triangle"));
  if (half != "both") out.triangle = half == "lower" ? Triangle::lower : Triangle::upper;
  if (context.has(path("file"))) {
    out.file = context.input_file(path("file"));
    out.dataset = context.text(path("dataset"));
    return out;
  }
  out.generated = context.text(path("generate"));
  if (!context.has(path("size"))) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "a generated matrix needs `size`, its number of rows", parameter);
  }
  out.size = context.integer(path("size"));
  out.seed = std::uint64_t(context.integer(path("seed")));
  out.generated_complex = context.boolean(path("complex"));
  return out;
}

/// Runs `step`; what is wrong with it is due to a parameter.
template <class Step>
auto blamed(const std::string& parameter, Step&& step) {
  try {
    return step();
  } catch (const NotEnoughMemory&) {
    throw;
  } catch (const Error& error) {
    TaskContext::fail(status_of(error.code()), error.what(), parameter);
  }
}

Fraction fraction_of(const TaskContext& context) {
  return blamed("vectors", [&] {
    if (context.has("vectors.interval")) {
      const std::vector<double> ends = context.reals("vectors.interval");
      return Fraction::interval(ends[0], ends[1]);
    }
    if (context.has("vectors.count")) return Fraction::lowest(context.integer("vectors.count"));
    if (context.has("vectors.last")) {
      const std::int64_t first = context.has("vectors.first") ? context.integer("vectors.first") : 1;
      return Fraction::range(first, context.integer("vectors.last"));
    }
    if (context.has("vectors.first")) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, "needs `last`, too: the number of the last eigenvector", "vectors");
    }
    return context.has("vectors.which") && context.text("vectors.which") == "none" ? Fraction::none() : Fraction::all();
  });
}

/// What is to be solved, before it is read.
struct Request {
  MatrixInput a;
  std::optional<MatrixInput> b;
  Fraction fraction;
  MatrixHead head;  ///< complex if A or B is
};

Request request_of(const TaskContext& context, bool read_for_size) {
  Request out{input_of(context, "a", "A"), {}, fraction_of(context), {}};
  out.head = blamed("a", [&] { return head_of(out.a, read_for_size); });
  if (context.has("b.file") || context.has("b.generate")) {
    out.b = input_of(context, "b", "B");
    const MatrixHead b = blamed("b", [&] { return head_of(*out.b, read_for_size); });
    out.head.complex = out.head.complex || b.complex;
    if (out.head.n != 0 && b.n != 0 && out.head.n != b.n) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("A has {} rows, but B has {}", out.head.n, b.n), "b");
    }
  }
  if (out.head.n != 0) blamed("vectors", [&] { out.fraction.check(out.head.n); });
  return out;
}

void check_task(const TaskContext& context) { (void)request_of(context, false); }

/// Everything that is in the host's memory at once: A and the factor of B, for a check copies of both, and what solve()
/// takes; a GPU leaves A and B as they are.
template <class T>
double bytes_of(const Request& request, bool check, bool on_gpu) {
  if (on_gpu) return host_bytes<T>(request.head.n, request.fraction, request.b.has_value());
  const double square = double(request.head.n) * double(request.head.n) * sizeof(T);
  return square * (request.b ? 2 : 1) * (check ? 2 : 1) + solve_bytes<T>(request.head.n, request.fraction);
}

Json phases_json(const std::vector<Phase>& phases) {
  Json out = Json::array();
  for (const Phase& phase : phases) {
    out.push_back({{"phase", phase.name},
                   {"seconds", phase.seconds},
                   {"flops", phase.flops > 0 ? Json(phase.flops) : Json(nullptr)}});
  }
  return out;
}

/// Eigenvalues with their numbers, evenly thinned to what a figure shows.
Json spectrum_json(const IndexRange& range, const std::vector<double>& values) {
  constexpr std::size_t most = 1000;
  const std::size_t shown = std::min(most, values.size());
  Json numbers = Json::array(), shown_values = Json::array();
  for (std::size_t k = 0; k < shown; ++k) {
    const std::size_t at = shown == 1 ? 0 : k * (values.size() - 1) / (shown - 1);
    numbers.push_back(range.first + std::int64_t(at) + 1);
    shown_values.push_back(values[at]);
  }
  return {{"number", numbers}, {"value", shown_values}};
}

template <class T>
void save(const TaskContext& context, const Pairs<T>& pairs) {
  if (!context.has("save.file")) return;
  Hdf5Writer writer(context.output_file("save.file"));
  writer.create("eigenvalues", {std::int64_t(pairs.values.size())});
  writer.rows(std::int64_t(pairs.values.size()), pairs.values.data());
  if (!pairs.vectors.empty()) {
    writer.create("eigenvectors", {pairs.range.count, pairs.n}, is_complex<T>);
    writer.rows(pairs.range.count, pairs.vectors.data());
  }
  writer.commit();
}

template <class T>
void solve_request(const TaskContext& context, const Request& request) {
  const std::int64_t n = request.head.n;
  const bool checked = context.boolean("check") && request.fraction.kind() != Fraction::Kind::none;
  const bool generalized = request.b.has_value(), on_gpu = context.backend() == "cuda";
  const double bytes = bytes_of<T>(request, checked, on_gpu);
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
    solve_with(factor, Problem<T>{n, a.data(), n, Triangle::lower, factor ? &*factor : nullptr, request.fraction, show},
               [](const Problem<T>& problem) { return solve(problem); });
  }
  const double seconds = now() - began;
  Json out = {{"n", n},
              {"complex", is_complex<T>},
              {"generalized", generalized},
              {"first", pairs.range.first + 1},
              {"last", pairs.range.first + pairs.range.count},
              {"vectors", pairs.vectors.empty() ? 0 : pairs.range.count},
              {"lowest", pairs.values.front()},
              {"highest", pairs.values.back()},
              {"tridiagonal_form", pairs.tridiagonal_form},
              {"bytes", bytes},
              {"threads", context.threads()},
              {"seconds", seconds},
              {"phases", phases_json(pairs.phases)},
              {"spectrum", spectrum_json(pairs.range, pairs.values)}};
  if (on_gpu) out.update({{"device_bytes", gpu_bytes}});
  if (checked) {
    const std::vector<T>&a_given = on_gpu ? a : a_kept, &b_given = on_gpu ? b : b_kept;
    const Accuracy accuracy = check_pairs(n, a_given.data(), generalized ? b_given.data() : nullptr, pairs);
    out.update({{"residual", accuracy.residual}, {"orthogonality", accuracy.orthogonality}});
  }
  save(context, pairs);
  log().info("{}: eigenvalues {} to {} of {}, {:.6g} to {:.6g}: {:.3g} s", context.task_name(), pairs.range.first + 1,
             pairs.range.first + pairs.range.count, n, pairs.values.front(), pairs.values.back(), seconds);
  context.result(out.dump());
}

void run_task(const TaskContext& context) {
  const Request request = request_of(context, true);
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

constexpr quadrille_parameter parameters[] = {
    required(matrix("a", "A, Hermitian", a_members)),
    matrix("b", "B, Hermitian and positive definite; default: the identity", b_members),
    group("vectors", "eigenvectors that are computed, with their eigenvalues; default: all", vectors_members, "which"),
    group("save", "eigenvalues and eigenvectors, written in double", save_members, "file"),
    boolean("check", "compute |AX - BXL| / (|A| |X| n) and |X^H B X - 1| / n, in 1-norms", "false")};

constexpr quadrille_task tasks[] = {
    {.name = "eigen",
     .help = "eigenvalues and eigenvectors of A x = lambda B x, Hermitian and dense",
     .parameters = parameters,
     .parameter_count = std::size(parameters),
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
