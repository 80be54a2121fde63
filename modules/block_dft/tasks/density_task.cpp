#include "modules/block_dft/tasks/density_task.h"

#include "core/backend/of_backend.h"
#include "core/system/log.h"
#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/tasks/density_report.h"
#include "modules/block_dft/tasks/matrix_inputs.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

namespace quadrille::block_dft {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

DensityOptions options_of(const TaskContext& context) {
  DensityOptions options;
  options.method = density_method_named(context.text("method"));
  if (context.has("mu")) options.mu = context.real("mu");
  if (context.has("electrons")) options.electrons = context.real("electrons");
  options.function = function_options(context);
  return options;
}

void show_progress(const TaskContext& context, DensityOptions& options) {
  options.progress = [&context, eps = options.function.eps](const std::string& what, int iteration, double residual) {
    context.progress_or_stop(fmt::format("{}, iteration {}, residual {:.1e}", what, iteration, residual),
                             iteration_fraction(residual, eps));
  };
}

Json step_json(const DensityStep& step) {
  Json out = {{"what", step.what},
              {"mu", step.what == "sign" ? Json(step.mu) : Json(nullptr)},
              {"electrons", step.what == "roots" ? Json(nullptr) : Json(step.electrons)},
              {"iterations", step.report.iterations},
              {"residual", step.report.residual},
              {"condition", step.what == "roots" ? Json(step.report.condition) : Json(nullptr)}};
  out.update(work_json(step.report));
  out.update({{"occupation", step.report.occupation}, {"seconds", step.seconds}});
  return out;
}

template <class M>
Json level_json(const Density<M>& density) {
  if (density.eigenvalues.empty()) return nullptr;
  const std::size_t below = std::size_t(std::llround(density.steps.back().electrons));
  return {{"lowest", density.eigenvalues.front()},
          {"highest_occupied", density.eigenvalues[below - 1]},
          {"lowest_empty", density.eigenvalues[below]},
          {"highest", density.eigenvalues.back()}};
}

/// M says where the matrices are: on the CPU or on a GPU.
template <class M>
void run_with(const TaskContext& context, const M& h, const M& s) {
  const BlockSizes& sizes = h.rows();
  DensityOptions options = options_of(context);
  show_progress(context, options);
  const DensityOptions wanted = options;
  const double began = now();
  const Density<M> density = density_matrix(h, s, options);
  const double seconds = now() - began;
  Json steps = Json::array();
  for (const DensityStep& step : density.steps) steps.push_back(step_json(step));
  Json out = {{"orbitals", sizes.total()},
              {"blocks", sizes.count()},
              {"method", context.text("method")},
              {"backend", on_gpu(context) ? "cuda" : "cpu"},
              {"converged", density.converged},
              {"electrons", density.electrons},
              {"energy", density.energy},
              {"mu", density.mu ? Json(*density.mu) : Json(nullptr)},
              {"occupation", density.p.occupation()},
              {"levels", level_json(density)},
              {"seconds", seconds},
              {"device_share", device_share(density.steps)},
              {"steps", steps}};
  const std::optional<DensityCheck> check = check_of(context, density.p, h, s);
  out.update(check_json(check));
  if (context.boolean("compare")) {
    options.method = DensityMethod::dense;
    const Density<M> exact = density_matrix(h, s, options);
    out.update(comparison_json(density.energy, exact.energy, exact.steps.back().seconds, sizes.count()));
  }
  save_density(context, density.p, density.electrons);
  if (!density.converged) context.warn("the density matrix has " + not_converged_text(density));
  const std::string doubts = doubts_of(density, wanted, check ? std::optional(check->idempotency) : std::nullopt);
  if (density.converged && !doubts.empty()) context.warn(doubts);
  log().info("{}: {} orbitals, tr(PS) {:.6f}, tr(PH) {:.10g}, {:.3g} s", context.task_name(), sizes.total(),
             density.electrons, density.energy, seconds);
  context.result(out.dump());
}

constexpr const char* density_methods[] = {"sign", "trs4", "canonical", "dense", nullptr};
constexpr const char* mu_excludes[] = {"electrons", nullptr};
constexpr const char* electrons_excludes[] = {"mu", nullptr};
}  // namespace

const quadrille_parameter density_parameters[density_parameter_count] = {
    required(matrix_input::hamiltonian),
    matrix_input::overlap,
    matrix_input::blocks,
    matrix_input::density,
    choice("method",
           "sign: matrix sign function, with mu by bisection for a number of electrons; trs4: trace-resetting "
           "purification; canonical: canonical purification; dense: eigenvectors by the module eigen",
           "sign", density_methods),
    {.name = "mu", .type = QUADRILLE_REAL, .help = "the chemical potential", .unit = "as H", .excludes = mu_excludes},
    {.name = "electrons",
     .type = QUADRILLE_REAL,
     .help = "tr(P S), one electron per occupied orbital: half their number for a closed shell",
     .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN,
     .excludes = electrons_excludes},
    matrix_input::eps,
    matrix_input::max_iterations,
    matrix_input::order,
    matrix_input::mixed,
    matrix_input::check,
    matrix_input::check_eps,
    matrix_input::grid,
    boolean("compare",
            "compute the error of the energy compared with all eigenvectors, by method dense, for small matrices",
            "false")};

void check_density_task(const TaskContext& context) {
  if (context.has("mu") == context.has("electrons")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "give either `mu` or `electrons`");
  }
  const std::string method = context.text("method");
  if ((method == "trs4" || method == "canonical") && context.has("mu")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, method + " needs `electrons` instead", "mu");
  }
  check_hamiltonian(context);
}

void run_density(const TaskContext& context) {
  InputMatrices files(context, hamiltonian_and_overlap);
  const BlockSizes& sizes = files.sizes();
  check_electrons(context, sizes);
  check_dense_memory(context, sizes);
  const BlockMatrix<double> h = files.read("hamiltonian"), s = files.read("overlap");
  if (!on_gpu(context)) return run_with(context, h, s);
  with_cuda([&](auto) {
    run_with(context, DeviceMatrix(h), DeviceMatrix(s));
    release_windows(sizes.grid());
  });
}

}  // namespace quadrille::block_dft
