#include "modules/block_dft/tasks/function_task.h"

#include "core/backend/of_backend.h"
#include "core/system/log.h"
#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/functions/named_function.h"
#include "modules/block_dft/tasks/density_report.h"
#include "modules/block_dft/tasks/matrix_inputs.h"
#include "modules/block_dft/tasks/model_input.h"
#include "modules/shared/study/study_report.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille::block_dft {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

const MatrixNames matrix_alone = {"matrix"};

BlockMatrix<double> matrix_of(const TaskContext& context) {
  if (context.has("matrix.file")) return InputMatrices(context, matrix_alone).read("matrix");
  ModelSystem system = model_system(model_options(context));
  return std::move(context.text("model.matrix") == "overlap" ? system.s : system.h);
}

/// The rows of the history: what an iteration has left, and the seconds since the beginning.
FunctionOptions recorded_in(Json& history, const TaskContext& context) {
  FunctionOptions options = function_options(context);
  options.progress = [&history, &context, eps = options.eps, began = now()](int iteration, double residual) {
    history.push_back({{"residual", residual}, {"seconds", now() - began}});
    context.progress_or_stop(
        fmt::format("{}, iteration {}, residual {:.1e}", context.text("function"), iteration, residual),
        iteration_fraction(residual, eps));
  };
  return options;
}

/// Of F as it is saved, where the job wants it.
template <class M>
Json function_check_json(const TaskContext& context, const M& f, const M& a, Function function) {
  if (!context.boolean("check")) return Json::object();
  const double eps = context.has("check_eps") ? context.real("check_eps") : context.real("eps") / 100;
  const FunctionCheck check = check_function(f, a, function, eps);
  return {{"identity", identity_of(function)},
          {"identity_residual", check.residual},
          {"commutation", known(check.commutation.has_value(), check.commutation.value_or(0))}};
}

/// M says where the matrices are: on the CPU or on a GPU.
template <class M>
void run_function_on(const TaskContext& context, const M& a) {
  const std::string name = context.text("function");
  const Function function = function_named(name);
  Json history = Json::array();
  const FunctionOptions options = recorded_in(history, context);
  const double began = now();
  const FunctionResult<M> found = function_of(a, function, options);
  const double seconds = now() - began;
  const FunctionReport& report = found.report;
  Json out = {{"function", name},
              {"rows", a.rows().total()},
              {"blocks", a.rows().count()},
              {"backend", on_gpu(context) ? "cuda" : "cpu"},
              {"converged", report.converged},
              {"residual", report.residual},
              {"condition", known(report.condition > 0, report.condition)},
              {"occupation_of_matrix", a.occupation()},
              {"occupation", found.matrix.occupation()},
              {"largest_occupation", report.occupation}};
  out.update(work_json(report));
  out.update({{"seconds", seconds}, {"iterations", history}});
  out.update(function_check_json(context, found.matrix, a, function));
  if (context.has("save.file")) {
    write_symmetric(context.output_file("save.file"), context.text("save.dataset"), on_host(found.matrix), 0);
  }
  if (const std::string doubts = function_doubts(function, report, options.eps); !doubts.empty()) {
    context.warn(fmt::format("{} is {}", name, doubts));
  }
  log().info("{}: {} of {} rows, {} iterations, {:.3g} s", context.task_name(), name, a.rows().total(),
             report.iterations, seconds);
  context.result(out.dump());
}

constexpr const char* function_names[] = {"inverse",     "exponential",         "sign",
                                          "square_root", "inverse_square_root", nullptr};
constexpr const char* iterated[] = {"inverse", "sign", "square_root", "inverse_square_root", nullptr};
constexpr const char* ordered[] = {"sign", "square_root", "inverse_square_root", nullptr};
constexpr quadrille_condition if_iterated[] = {{.parameter = "function", .values = iterated}, {}};
constexpr quadrille_condition if_ordered[] = {{.parameter = "function", .values = ordered}, {}};
constexpr const char* matrix_excludes[] = {"model", nullptr};
constexpr const char* model_matrix_excludes[] = {"matrix", "blocks", nullptr};
constexpr const char* model_matrices[] = {"overlap", "hamiltonian", nullptr};
constexpr quadrille_parameter a_members[] = {matrix_input::in_file, matrix_input::dataset("A")};
constexpr quadrille_parameter f_members[] = {matrix_input::out_file, matrix_input::dataset("F")};
constexpr quadrille_parameter function_model_members[] = {
    model_input::atoms,
    model_input::block_sizes,
    model_input::decay,
    model_input::cutoff,
    model_input::coupling,
    model_input::seed,
    choice("matrix", "overlap: S, positive definite; hamiltonian: H, with eigenvalues on both sides of 0", "overlap",
           model_matrices)};

constexpr quadrille_parameter with_excludes(quadrille_parameter parameter, const char* const* excludes) {
  parameter.excludes = excludes;
  return parameter;
}

constexpr quadrille_parameter only_with(quadrille_parameter parameter, const quadrille_condition* condition) {
  parameter.only_if = condition;
  return parameter;
}

}  // namespace

const quadrille_parameter function_parameters[function_parameter_count] = {
    required(
        choice("function",
               "of A: inverse; exponential; sign, by eigenvalues -1 and 1; square_root and inverse_square_root, of a "
               "positive definite A",
               nullptr, function_names)),
    with_excludes(group("matrix", "A, symmetric", a_members, "file"), matrix_excludes),
    with_excludes(group("model", "A of a generated insulator, instead of a file: see modules/block_dft/METHODS.md",
                        function_model_members, "atoms"),
                  model_matrix_excludes),
    matrix_input::blocks,
    group("save", "the function of A, written in double", f_members, "file"),
    real("eps",
         "blocks and products with norms below this are left out; roots and inverse end at a residual of 10 eps, sign "
         "at "
         "its square root, the terms of the exponential below it",
         "1.0e-6", above_and_up_to(0, 0.1)),
    only_with(integer("max_iterations", "maximum of iterations", "100", at_least(1)), if_iterated),
    only_with(
        integer("order", "each step raises the residual to this power; default: 2 for sign, the fastest for roots",
                nullptr, within(2, 5)),
        if_ordered),
    matrix_input::mixed,
    boolean(
        "check",
        "measure how well the result F does what defines it: |A F - I|, |F F - A|, |F A F - I|, |F F - I| and |F A - "
        "A F|, |F e^-A - I|",
        "true"),
    matrix_input::check_eps,
    matrix_input::grid};

void check_function_task(const TaskContext& context) {
  if (context.has("matrix.file") == context.has("model.atoms")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "give either `matrix` or `model`");
  }
  if (context.has("matrix.file")) check_matrices(context, matrix_alone);
}

void run_function(const TaskContext& context) {
  const BlockMatrix<double> a = matrix_of(context);
  if (!on_gpu(context)) return run_function_on(context, a);
  with_cuda([&](auto) {
    run_function_on(context, DeviceMatrix(a));
    release_windows(a.rows().grid());
  });
}

}  // namespace quadrille::block_dft
