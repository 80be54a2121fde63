#include "modules/block_dft/tasks/scf_task.h"

#include "core/backend/of_backend.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/scf/model_system.h"
#include "modules/block_dft/scf/scf.h"
#include "modules/block_dft/tasks/density_report.h"
#include "modules/block_dft/tasks/matrix_inputs.h"
#include "modules/block_dft/tasks/model_input.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

struct Problem {
  SccModel<> model;
  double electrons;
};

ModelSystem made_system(const TaskContext& context) {
  ModelOptions options = model_options(context);
  options.polarity = context.real("model.polarity");
  return model_system(options);
}

/// As many electrons for each orbital as on average.
std::vector<double> even_charges(const BlockSizes& sizes, double electrons) {
  std::vector<double> out;
  for (const std::int32_t size : sizes.sizes()) out.push_back(electrons * size / double(sizes.total()));
  return out;
}

AtomPositions positions_of(const TaskContext& context, std::int32_t atoms) {
  AtomPositions out;
  const std::vector<double> numbers = of_first_rank<double>(context, [&] {
    return read_numbers(context.input_file("positions"), 3 * std::size_t(atoms),
                        fmt::format("x, y, z of {} atoms", atoms));
  });
  for (std::size_t a = 0; a < std::size_t(atoms); ++a) {
    out.at.push_back({numbers[3 * a], numbers[3 * a + 1], numbers[3 * a + 2]});
  }
  if (context.has("cell.x")) out.cell = {context.real("cell.x"), context.real("cell.y"), context.real("cell.z")};
  return out;
}

/// Fails before its work begins where eigenvectors that will be needed do not fit.
Problem problem_of(const TaskContext& context) {
  Problem out;
  SccModel<>& model = out.model;
  AtomPositions positions;
  if (context.has("model.atoms")) {
    check_dense_memory(context, model_sizes(context));
    ModelSystem system = made_system(context);
    model.h0 = std::move(system.h);
    model.s = std::move(system.s);
    model.neutral = std::move(system.neutral);
    positions = std::move(system.positions);
    out.electrons = context.has("electrons") ? context.real("electrons") : system.electrons;
  } else {
    InputMatrices files(context, hamiltonian_and_overlap);
    const BlockSizes& sizes = files.sizes();
    check_electrons(context, sizes);
    check_dense_memory(context, sizes);
    model.h0 = files.read("hamiltonian");
    model.s = files.read("overlap");
    out.electrons = context.real("electrons");
    model.neutral = even_charges(sizes, out.electrons);
    positions.at.resize(std::size_t(sizes.count()));
  }
  const std::int32_t atoms = model.s.rows().count();
  if (context.has("neutral")) {
    model.neutral = of_first_rank<double>(context, [&] {
      return read_numbers(context.input_file("neutral"), std::size_t(atoms),
                          fmt::format("the charges of {} neutral atoms", atoms));
    });
  }
  if (context.has("positions")) positions = positions_of(context, atoms);
  model.gamma = charge_interaction(
      positions,
      {.hubbard = context.real("hubbard"), .screening = context.real("screening"), .cutoff = context.real("cutoff")});
  return out;
}

ScfOptions options_of(const TaskContext& context, double electrons) {
  ScfOptions options;
  const std::string method = context.text("method");
  const bool curvy = method == "curvy";
  options.method = curvy ? ScfMethod::curvy : ScfMethod::mixing;
  options.density.method = density_method_named(curvy ? "trs4" : method);
  options.density.electrons = electrons;
  options.density.function = function_options(context);
  options.eps_scf = context.real("eps_scf");
  options.max_iterations = int(context.integer("max_scf"));
  if (!curvy) options.mixing = context.real("mixing");
  if (curvy && context.text("direction") == "steepest_descent") options.direction = CurvyDirection::steepest_descent;
  return options;
}

/// The line says the iteration of the loop and what it is at; changes of the energy that fall by the same factor say
/// how long it takes.
class Progress {
 public:
  Progress(const TaskContext& context, ScfOptions& options)
      : context_(context), limit_(options.eps_scf * *options.density.electrons) {
    options.progress = [this](int iteration, double energy, double change) { at(iteration, energy, change); };
    options.density.progress = [this](const std::string& what, int iteration, double residual) {
      context_.progress_or_stop(fmt::format("{}; {}, iteration {}, residual {:.1e}", line_, what, iteration, residual),
                                fraction_);
    };
  }

 private:
  void at(int iteration, double energy, double change) {
    line_ = fmt::format("iteration {}, E = {:.10g}", iteration, energy);
    if (!std::isnan(change)) line_ += fmt::format(", change {:.1e}", change);
    change = std::abs(change);
    if (std::isnan(first_)) first_ = change;
    if (change > 0 && first_ > limit_) {
      fraction_ = std::clamp(std::log(first_ / change) / std::log(first_ / limit_), fraction_, 1.0);
    }
    context_.progress_or_stop(line_, fraction_);
  }

  const TaskContext& context_;
  double limit_, first_ = std::nan(""), fraction_ = 0;
  std::string line_ = "first density matrix";
};

Json iteration_json(const ScfIteration& one) {
  Json out = {{"energy", one.energy},
              {"change", known(!std::isnan(one.change), one.change)},
              {"charge_change", one.charge_change},
              {"gradient", known(one.gradient > 0, one.gradient)},
              {"mu", known(!std::isnan(one.mu), one.mu)}};
  out.update(work_json(one.report));
  out.update({{"occupation", one.occupation}, {"seconds", one.seconds}});
  return out;
}

/// The extremes of q - q0.
template <class M>
Json charges_json(const SccModel<M>& model, const Scf<M>& scf) {
  double low = INFINITY, high = -INFINITY;
  for (std::size_t a = 0; a < scf.charges.size(); ++a) {
    low = std::min(low, scf.charges[a] - model.neutral[a]);
    high = std::max(high, scf.charges[a] - model.neutral[a]);
  }
  return {{"lowest", low}, {"highest", high}};
}

/// One line each, on rank 0, where the job has a file for them. Collective.
void save_numbers(const TaskContext& context, const std::string& name, const std::vector<double>& numbers) {
  if (!context.has(name)) return;
  std::string text;
  for (const double number : numbers) text += fmt::format("{:.15g}\n", number);
  const std::string file = context.output_file(name);
  on_first_rank(context.ranks(), [&] { write_file(file, text); });
}

/// H, S and the sizes of the blocks, where the job has files for them. Collective.
template <class M>
void save_matrices(const TaskContext& context, const M& h, const M& s, double electrons) {
  const auto save = [&](const std::string& name, const std::string& dataset, const M& matrix) {
    if (context.has(name)) write_symmetric(context.output_file(name), dataset, on_host(matrix), electrons);
  };
  save("save.hamiltonian", "H", h);
  save("save.overlap", "S", s);
  const std::vector<std::int32_t>& sizes = s.rows().sizes();
  save_numbers(context, "save.blocks", {sizes.begin(), sizes.end()});
}

/// The first iteration has no energy before it to compare with.
std::string last_change_text(const std::vector<ScfIteration>& iterations) {
  if (iterations.size() == 1) return "1 iteration: at least two are needed";
  return fmt::format("{} iterations: the last changed the energy by {:.2e}", iterations.size(),
                     iterations.back().change);
}

/// M says where the matrices are: on the CPU or on a GPU.
template <class M>
void run_with(const TaskContext& context, const SccModel<M>& model, double electrons) {
  ScfOptions options = options_of(context, electrons);
  const Progress progress(context, options);
  const double began = now();
  const Scf<M> scf = self_consistent(model, options);
  const double seconds = now() - began;
  Json iterations = Json::array();
  for (const ScfIteration& one : scf.iterations) iterations.push_back(iteration_json(one));
  const BlockSizes& sizes = model.s.rows();
  Json out = {{"backend", on_gpu(context) ? "cuda" : "cpu"},
              {"orbitals", sizes.total()},
              {"blocks", sizes.count()},
              {"method", context.text("method")},
              {"converged", scf.converged},
              {"energy", scf.energy},
              {"band_energy", scf.band_energy},
              {"charge_energy", scf.charge_energy},
              {"electrons", scf.electrons},
              {"charge_transfer", charges_json(model, scf)},
              {"occupation", scf.p.occupation()},
              {"seconds", seconds},
              {"device_share", device_share(scf.iterations)},
              {"iterations", iterations}};
  const std::optional<DensityCheck> check = check_of(context, scf.p, scf.h, model.s);
  out.update(check_json(check));
  const DensityFigures figures{scf.electrons, electrons, check ? std::optional(check->idempotency) : std::nullopt,
                               options.density.function.eps, scf.degenerate_level};
  if (context.boolean("compare")) {
    options.method = ScfMethod::mixing;
    options.density.method = DensityMethod::dense;
    options.eps_scf = std::min(options.eps_scf, 1e-12);
    options.max_iterations = 1000;
    const double start = now();
    const Scf<M> dense = self_consistent(model, options);
    out.update(comparison_json(scf.energy, dense.energy, now() - start, sizes.count()));
  }
  save_density(context, scf.p, scf.electrons);
  save_numbers(context, "charges", scf.charges);
  save_matrices(context, scf.h, model.s, scf.electrons);
  if (!scf.density_failure.empty()) context.warn(scf.density_failure);
  if (!scf.converged && scf.density_failure.empty()) {
    context.warn("the self-consistent loop has not converged after " + last_change_text(scf.iterations));
  }
  if (const std::string doubts = density_doubts(figures); !doubts.empty()) context.warn(doubts);
  log().info("{}: {} orbitals, E = {:.12g} after {} iterations, {:.3g} s", context.task_name(), sizes.total(),
             scf.energy, scf.iterations.size(), seconds);
  context.result(out.dump());
}

constexpr const char* scf_methods[] = {"trs4", "canonical", "sign", "dense", "curvy", nullptr};
constexpr const char* directions[] = {"conjugate_gradient", "steepest_descent", nullptr};
constexpr const char* with_curvy[] = {"curvy", nullptr};
constexpr const char* with_mixing[] = {"trs4", "canonical", "sign", "dense", nullptr};
constexpr quadrille_condition if_curvy[] = {{.parameter = "method", .values = with_curvy}, {}};
constexpr quadrille_condition if_mixing[] = {{.parameter = "method", .values = with_mixing}, {}};
constexpr const char* model_excludes[] = {"hamiltonian", "overlap", "blocks", "positions", nullptr};
constexpr quadrille_parameter cell_members[] = {real("x", "edge along x", "0", at_least(0)),
                                                real("y", "edge along y", "0", at_least(0)),
                                                real("z", "edge along z", "0", at_least(0))};
constexpr quadrille_parameter model_members[] = {
    model_input::atoms,
    model_input::block_sizes,
    model_input::decay,
    model_input::cutoff,
    model_input::coupling,
    real("polarity", "neutral atoms have up to this many electrons more or fewer than levels below the gap", "0.1",
         at_least(0)),
    model_input::seed};

constexpr quadrille_parameter model() {
  quadrille_parameter out = group("model", "a generated insulator, instead of files: see modules/block_dft/METHODS.md",
                                  model_members, "atoms");
  out.excludes = model_excludes;
  return out;
}

constexpr quadrille_parameter save_members[] = {
    file_out("hamiltonian",
             "H at the charges of the last density matrix: ELSI CSC if its name ends in .csc, otherwise "
             "dense HDF5, dataset H"),
    file_out("overlap", "S, in the same way, dataset S"),
    file_out("blocks", "orbitals of each atom, one line per atom")};

constexpr quadrille_parameter given(quadrille_parameter parameter, const quadrille_condition* condition) {
  parameter.only_if = condition;
  return parameter;
}

}  // namespace

const quadrille_parameter scf_parameters[scf_parameter_count] = {
    model(),
    matrix_input::hamiltonian,
    matrix_input::overlap,
    matrix_input::blocks,
    real("electrons", "tr(P S), one electron per occupied orbital; default for a model: those below its gap", nullptr,
         above(0)),
    file_in("neutral",
            "a text file with the electrons of each neutral atom; default: the same number for each orbital"),
    real("hubbard", "U: the cost of one more electron on an atom", "1", at_least(0), "as H"),
    real("screening",
         "charges of atoms at a distance r interact as exp(-r / screening) / sqrt(r^2 + U^-2); 0: they do not", "0",
         at_least(0)),
    real("cutoff", "no interaction beyond this distance; 0: where the exponential is below 1e-12", "0", at_least(0)),
    file_in("positions", "a text file with x, y, z of each atom"),
    group("cell", "periodic box of the positions; an axis with edge 0 is not periodic", cell_members),
    choice("method",
           "of each density matrix: trs4, canonical, sign or dense, with mixing; curvy: curvy steps from one by trs4, "
           "no mixing",
           "trs4", scf_methods),
    given(real("mixing", "the fraction of the new charges in those of the next Hamiltonian", "0.3",
               above_and_up_to(0, 1)),
          if_mixing),
    given(choice("direction", "of curvy steps", "conjugate_gradient", directions), if_curvy),
    real("eps_scf", "the loop ends when the energy changes by less than this per electron", "1.0e-7", above(0)),
    integer("max_scf", "maximum number of iterations of the loop", "100", at_least(1)),
    matrix_input::eps,
    matrix_input::max_iterations,
    matrix_input::order,
    matrix_input::mixed,
    matrix_input::check,
    matrix_input::check_eps,
    matrix_input::grid,
    boolean("compare", "compute the error of the energy compared with a loop of method dense, for small matrices",
            "false"),
    matrix_input::density,
    file_out("charges", "electrons of each atom, one line per atom"),
    group("save", "the matrices, as the tasks density_matrix and eigen read them", save_members)};

void check_scf(const TaskContext& context) {
  if (context.has("model.atoms") == context.has("hamiltonian.file")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "give either `model` or `hamiltonian`");
  }
  if (context.has("hamiltonian.file") && !context.has("electrons")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "matrices from files need `electrons`");
  }
  if (context.has("hamiltonian.file") && !context.has("positions") && context.real("screening") > 0) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "needs `positions`", "screening");
  }
  if (context.has("model.atoms")) return check_electrons(context, model_sizes(context));
  check_hamiltonian(context);
}

void run_scf(const TaskContext& context) {
  const Problem problem = problem_of(context);
  const SccModel<>& model = problem.model;
  if (!on_gpu(context)) return run_with(context, model, problem.electrons);
  with_cuda([&](auto) {
    const SccModel<DeviceMatrix> there{DeviceMatrix(model.h0), DeviceMatrix(model.s), model.gamma, model.neutral};
    run_with(context, there, problem.electrons);
    release_windows(model.s.grid());
  });
}

}  // namespace quadrille::block_dft
