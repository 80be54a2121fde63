#include "modules/block_dft/density_task.h"

#include "core/system/log.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/density.h"
#include "modules/block_dft/matrix_files.h"
#include "modules/parameters.h"
#include "modules/take_turns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// Sizes of `blocks.file`, or as many of `blocks.size` as the matrix has, the last one smaller where they do not add
/// up.
BlockSizes sizes_of(const TaskContext& context) {
  if (context.has("blocks.file")) return read_block_sizes(context.input_file("blocks.file"));
  const std::int64_t n = read_matrix_size(context.input_file("hamiltonian.file"), context.text("hamiltonian.dataset"));
  const std::int64_t size = context.integer("blocks.size");
  std::vector<std::int32_t> sizes(std::size_t(n / size), std::int32_t(size));
  if (n % size != 0) sizes.push_back(std::int32_t(n % size));
  return BlockSizes(std::move(sizes));
}

BlockMatrix<double> matrix_of(const TaskContext& context, const std::string& name, const BlockSizes& sizes) {
  return read_symmetric(context.input_file(name + ".file"), context.text(name + ".dataset"), sizes);
}

DensityOptions options_of(const TaskContext& context) {
  DensityOptions options;
  options.method = density_method_named(context.text("method"));
  if (context.has("mu")) options.mu = context.real("mu");
  if (context.has("electrons")) options.electrons = context.real("electrons");
  options.function.eps = context.real("eps");
  options.function.max_iterations = int(context.integer("max_iterations"));
  return options;
}

/// The residuals of quadratic convergence say how far an iteration is: none, until one is below 1.
void show_progress(const TaskContext& context, DensityOptions& options) {
  const double target = std::log(std::sqrt(options.function.eps));
  options.progress = [&context, target](const std::string& what, int iteration, double residual) {
    const double fraction = residual < 1 && residual > 0 ? std::min(1.0, std::log(residual) / target) : 0;
    context.progress_or_stop(fmt::format("{}, iteration {}, residual {:.1e}", what, iteration, residual), fraction);
  };
}

Json step_json(const DensityStep& step) {
  return {{"what", step.what},
          {"mu", step.what == "sign" ? Json(step.mu) : Json(nullptr)},
          {"electrons", step.what == "roots" ? Json(nullptr) : Json(step.electrons)},
          {"iterations", step.report.iterations},
          {"residual", step.report.residual},
          {"bound", step.report.bound},
          {"flops", step.report.flops},
          {"occupation", step.report.occupation},
          {"seconds", step.seconds}};
}

Json level_json(const Density& density) {
  if (density.eigenvalues.empty()) return nullptr;
  const std::size_t below = std::size_t(std::llround(density.steps.back().electrons));
  return {{"lowest", density.eigenvalues.front()},
          {"highest_occupied", density.eigenvalues[below - 1]},
          {"lowest_empty", density.eigenvalues[below]},
          {"highest", density.eigenvalues.back()}};
}

constexpr const char* methods[] = {"sign", "trs4", "dense", nullptr};
constexpr const char* mu_excludes[] = {"electrons", nullptr};
constexpr const char* electrons_excludes[] = {"mu", nullptr};
constexpr const char* file_excludes[] = {"size", nullptr};

constexpr quadrille_parameter matrix_in = required(file_in("file", "HDF5 or ELSI CSC, told by its first bytes"));
constexpr quadrille_parameter matrix_out =
    required(file_out("file", "ELSI CSC where its name ends in .csc, otherwise dense in HDF5"));
constexpr quadrille_parameter dataset(const char* name) { return text("dataset", "of HDF5: a square matrix", name); }
constexpr quadrille_parameter h_members[] = {matrix_in, dataset("H")};
constexpr quadrille_parameter s_members[] = {matrix_in, dataset("S")};
constexpr quadrille_parameter p_members[] = {matrix_out, dataset("P")};
constexpr quadrille_parameter block_members[] = {
    {.name = "file",
     .type = QUADRILLE_FILE_IN,
     .help = "a text file with the number of orbitals of each atom",
     .excludes = file_excludes},
    integer("size", "all blocks have this size, but for a last one", "16", within(1, 4096))};

constexpr quadrille_parameter parameters[] = {
    required(group("hamiltonian", "H", h_members, "file")),
    group("overlap", "S, positive definite; without it the identity", s_members, "file"),
    group("blocks", "how rows and columns are cut", block_members, "file"),
    group("density", "P, written in double", p_members, "file"),
    choice("method",
           "sign: matrix sign function, mu bisected for a number of electrons; trs4: trace-resetting purification; "
           "dense: eigenvectors by LAPACK",
           "sign", methods),
    {.name = "mu", .type = QUADRILLE_REAL, .help = "the chemical potential", .unit = "as H", .excludes = mu_excludes},
    {.name = "electrons",
     .type = QUADRILLE_REAL,
     .help = "tr(P S), one electron per occupied orbital: half their number for a closed shell",
     .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN,
     .excludes = electrons_excludes},
    real("eps", "blocks and products with norms below it are left out; iterations end at its square root", "1.0e-6",
         above_and_up_to(0, 0.1)),
    integer("max_iterations", "of each function of a matrix", "100", at_least(1)),
    boolean("check", "measure |PSPS - PS| and |SPH - HPS|", "true"),
    real("check_eps", "what products of the check leave out; without it eps / 100", nullptr, at_least(0)),
    boolean("compare", "the error of the energy against all eigenvectors by LAPACK, for matrices that are small enough",
            "false")};

void check_density_task(const TaskContext& context) {
  if (context.has("mu") == context.has("electrons")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "give `mu` or `electrons`, one of the two");
  }
  if (context.text("method") == "trs4" && context.has("mu")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "trs4 needs `electrons` in place of it", "mu");
  }
  const BlockSizes sizes = sizes_of(context);
  for (const char* name : {"hamiltonian", "overlap"}) {
    if (!context.has(std::string(name) + ".file")) continue;
    const std::int64_t n =
        read_matrix_size(context.input_file(std::string(name) + ".file"), context.text(std::string(name) + ".dataset"));
    if (n == sizes.total()) continue;
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("has {} rows, but the {} blocks have {}", n, sizes.count(), sizes.total()),
                      std::string(name) + ".file");
  }
  if (context.has("electrons") && context.real("electrons") >= double(sizes.total())) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("must be less than the number of orbitals, {}: each holds one", sizes.total()),
                      "electrons");
  }
  if (!context.backend().empty() && context.backend() != "cpu") {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, "density matrices run on the CPU only: use --backend cpu");
  }
}

void run_density(const TaskContext& context) {
  check_density_task(context);
  const BlockSizes sizes = sizes_of(context);
  const BlockMatrix<double> h = matrix_of(context, "hamiltonian", sizes);
  const BlockMatrix<double> s =
      context.has("overlap.file") ? matrix_of(context, "overlap", sizes) : identity<double>(sizes);
  DensityOptions options = options_of(context);
  show_progress(context, options);
  const double began = now();
  const Density density = density_matrix(h, s, options);
  const double seconds = now() - began;
  Json steps = Json::array();
  for (const DensityStep& step : density.steps) steps.push_back(step_json(step));
  Json out = {{"orbitals", sizes.total()},
              {"blocks", sizes.count()},
              {"method", context.text("method")},
              {"converged", density.converged},
              {"electrons", density.electrons},
              {"energy", density.energy},
              {"mu", density.mu ? Json(*density.mu) : Json(nullptr)},
              {"occupation", density.p.occupation()},
              {"levels", level_json(density)},
              {"seconds", seconds},
              {"steps", steps}};
  if (context.boolean("check")) {
    const double eps = context.has("check_eps") ? context.real("check_eps") : context.real("eps") / 100;
    const DensityCheck check = check_density(density.p, h, s, eps);
    out.update({{"idempotency", check.idempotency}, {"commutation", check.commutation}});
  }
  if (context.boolean("compare")) {
    options.method = DensityMethod::dense;
    const Density exact = density_matrix(h, s, options);
    out.update({{"dense_energy", exact.energy}, {"dense_seconds", exact.steps.back().seconds}});
    out["energy_error_per_block"] = std::abs(density.energy - exact.energy) / sizes.count();
  }
  if (context.has("density.file")) {
    write_symmetric(context.output_file("density.file"), context.text("density.dataset"), density.p, density.electrons);
  }
  if (!density.converged) {
    context.warn(fmt::format("the density matrix has not converged: residual {:.2e} after {} iterations",
                             density.steps.back().report.residual, density.steps.back().report.iterations));
  }
  log().info("{}: {} orbitals, tr(PS) {:.6f}, tr(PH) {:.10g}, {:.3g} s", context.task_name(), sizes.total(),
             density.electrons, density.energy, seconds);
  context.result(out.dump());
}

}  // namespace

const DeclaredTask density_matrix_task{{.name = "density_matrix",
                                        .help = "the density matrix of a Hamiltonian and an overlap matrix, in time "
                                                "linear in their size where they are sparse",
                                        .parameters = parameters,
                                        .parameter_count = std::size(parameters)},
                                       check_density_task,
                                       run_density};

}  // namespace quadrille::block_dft
