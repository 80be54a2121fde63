#include "solvers/registry.h"

#include "solvers/defect_correction.h"
#include "solvers/methods/methods.h"
#include "solvers/multigrid/multigrid.h"
#include "solvers/parameter_ranges.h"
#include "solvers/preconditioners/preconditioners.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace quadrille {

namespace {

Parameter choice(std::string name, std::string default_text, std::vector<std::string> choices, std::string help) {
  Parameter p;
  p.name = std::move(name);
  p.type = ParameterType::choice;
  p.help = std::move(help);
  p.default_text = std::move(default_text);
  p.choices = std::move(choices);
  return p;
}

std::unique_ptr<Solver> of_cg(const SolverParts& parts, const Parameters&) { return make_cg(parts); }
std::unique_ptr<Solver> of_bicgstab(const SolverParts& parts, const Parameters&) { return make_bicgstab(parts); }
std::unique_ptr<Solver> of_bicgstab_l(const SolverParts& parts, const Parameters& parameters) {
  return make_bicgstab_l(parts, int(parameters.integer("l")));
}
std::unique_ptr<Solver> of_gcr(const SolverParts& parts, const Parameters& parameters) {
  return make_gcr(parts, int(parameters.integer("restart_length")));
}
std::unique_ptr<Solver> of_mr(const SolverParts& parts, const Parameters& parameters) {
  return make_mr(parts, parameters.real("omega"));
}

std::unique_ptr<Solver> of_multigrid(const SolverParts& parts, const Parameters& parameters) {
  return make_gcr(parts, multigrid_settings(parameters).restart_length);
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const SolverEntry& entry : solver_registry()) all.push_back(entry.name);
  return all;
}

const std::vector<std::string> precisions = {"double", "single", "half"};
const std::vector<std::string> reconstructions = {"18", "12", "8"};

Parameter sloppy_group() {
  Parameter temporal;
  temporal.name = "temporal_gauge";
  temporal.type = ParameterType::boolean;
  temporal.help = "fix to temporal gauge: almost all time links are then the unit matrix and are not loaded";
  temporal.default_text = "false";
  Parameter group;
  group.name = "sloppy";
  group.type = ParameterType::group;
  group.help = "the inner operator, for the schemes reliable and defect";
  group.default_text = "{}";
  group.members = {choice("precision", "single", precisions, "precision of the inner operator and of the iterations"),
                   choice("reconstruct", "12", reconstructions, "real numbers stored per link"), temporal};
  return group;
}

Parameter preconditioning_group() {
  Parameter group;
  group.name = "preconditioning";
  group.type = ParameterType::group;
  group.help = "even-odd preconditioning of M = A + H, A local to a site";
  group.default_text = "{}";
  group.members = {
      choice(
          "form", "automatic", {"automatic", "asymmetric", "symmetric"},
          "asymmetric: A - H A^-1 H; symmetric: 1 - A^-1 H A^-1 H, which takes 10 to 20 % fewer iterations for clover "
          "fermions; automatic: symmetric for these alone"),
      choice("parity", "even", {"even", "odd"}, "the sites that the solver works on"),
  };
  return group;
}

Parameter deflation_group() {
  Parameter vectors = count("vectors", 10000, "0", "low modes that are kept for all solves of a task; 0: none");
  vectors.minimum = 0;
  Parameter group;
  group.name = "deflation";
  group.type = ParameterType::group;
  group.help =
      "low modes that solves find are taken out of those that follow: for many right-hand sides of light quarks";
  group.default_text = "{}";
  group.members = {
      vectors,
      count("window", 500, "96", "gradients that a solve keeps to find low modes in; more than twice `modes`"),
      count("modes", 200, "16", "low modes that are sought in them"),
  };
  return group;
}

EvenOddForm::Kind parse_form(const std::string& name) {
  using Kind = EvenOddForm::Kind;
  for (const Kind kind : {Kind::asymmetric, Kind::symmetric}) {
    if (to_string(kind) == name) return kind;
  }
  return Kind::automatic;
}

ParameterTable make_table() {
  ParameterTable table;
  table.name = "solver";
  table.help = "how linear systems are solved";
  table.parameters = {
      between("tolerance", 0, 1, "1.0e-10",
              "a solve has converged when |b - M x| / |b| of the full system, in double, is at most this"),
      count("max_iterations", 1e9, "10000", "limit on the iterations for one right-hand side, restarts included"),
      choice("scheme", "reliable", {"reliable", "defect", "uniform"},
             "reliable: iterate in sloppy precision with reliable updates of the residual; defect: defect correction, "
             "an outer loop in double around sloppy solves; uniform: everything in `precision`"),
      choice("precision", "double", precisions,
             "precision of the outer operator; single and half only with scheme: uniform"),
      choice("reconstruct", "18", reconstructions,
             "real numbers stored per link of the outer operator; with 12 and 8 links must be unitary to 1e-13"),
      between("delta", 0, 1, "0.1",
              "reliable: an update when |r| has fallen by this factor (CG: earlier where rounding requires it; "
              "BiCGstab in half: at 0.1 at the latest); defect: by how much one inner solve reduces the residual"),
      sloppy_group(),
      preconditioning_group(),
  };
  return table;
}

}  // namespace

Scheme parse_scheme(const std::string& name) {
  for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
    if (to_string(scheme) == name) return scheme;
  }
  throw Error(ErrorCode::internal, fmt::format("scheme '{}' is in no table", name));
}

std::string to_string(EvenOddForm::Kind kind) {
  switch (kind) {
    case EvenOddForm::Kind::asymmetric: return "asymmetric";
    case EvenOddForm::Kind::symmetric: return "symmetric";
    case EvenOddForm::Kind::automatic: return "automatic";
  }
  return "unknown";
}

std::string to_string(Scheme scheme) {
  switch (scheme) {
    case Scheme::reliable: return "reliable";
    case Scheme::defect: return "defect";
    case Scheme::uniform: return "uniform";
  }
  return "unknown";
}

const ParameterTable& solver_table() {
  static const ParameterTable table = make_table();
  return table;
}

namespace {

/// A variant of all methods: for each the `common` parameters and its own.
Parameter variant_of(const std::vector<Parameter>& common) {
  Parameter block;
  block.name = "solver";
  block.type = ParameterType::variant;
  block.help = solver_table().help;
  for (const SolverEntry& entry : solver_registry()) {
    ParameterTable table{.name = "solver " + entry.name, .help = entry.help, .parameters = common};
    table.parameters.insert(table.parameters.end(), entry.own.begin(), entry.own.end());
    block.entries.push_back({entry.name, std::move(table)});
  }
  return block;
}

Parameters defaults(const SolverEntry& entry) {
  std::vector<Error> errors;
  return resolve({.name = entry.name, .parameters = entry.own}, Value{}, errors);
}

}  // namespace

const Parameter& solver_variant() {
  static const Parameter block = variant_of(solver_table().parameters);
  return block;
}

Parameter method_variant() {
  Parameter block = variant_of({});
  block.shorthand = block.selector;
  return block;
}

const std::vector<SolverEntry>& solver_registry() {
  static const std::vector<SolverEntry> registry = {
      {"cg",
       "conjugate gradients on the normal equations; stops on the residual of M x = b",
       {deflation_group()},
       of_cg,
       nullptr,
       "CG_INVERTER",
       "RsdCG",
       "MaxCG"},
      {"bicgstab",
       "BiCGstab applied directly to M",
       {},
       of_bicgstab,
       bicgstab_delta,
       "BICGSTAB_INVERTER",
       "RsdBiCGStab",
       "MaxBiCGStab"},
      {"bicgstab_l",
       "BiCGstab(L) applied directly to M: for eigenvalues with large imaginary parts",
       {count("l", 8, "2", "degree of the minimal-residual polynomials")},
       of_bicgstab_l,
       bicgstab_delta,
       "BICGSTAB_INVERTER",
       "RsdBiCGStab",
       "MaxBiCGStab"},
      {"gcr",
       "generalised conjugate residuals with restarts, applied directly to M; takes a preconditioner",
       {count("restart_length", 1000, "16", "directions that are kept, each with two fields; then it starts anew"),
        preconditioner_parameter()},
       of_gcr,
       nullptr,
       "GCR_INVERTER",
       "RsdGCR",
       "MaxGCR"},
      {"mr",
       "the minimal-residual iteration, applied directly to M: for heavy quarks",
       {between("omega", 0, 2, "1.1", "relaxation; above 1 overrelaxation")},
       of_mr,
       nullptr,
       "MR_INVERTER",
       "RsdMR",
       "MaxMR"},
      {"multigrid", "GCR preconditioned by adaptive multigrid: for light quarks and many right-hand sides",
       multigrid_parameters(), of_multigrid, nullptr, "GCR_INVERTER", "RsdGCR", "MaxGCR"},
  };
  return registry;
}

std::unique_ptr<Solver> make_method(const SolverEntry& entry, SolverParts parts, const Parameters& own) {
  const Parameters& parameters = own.items().empty() ? defaults(entry) : own;
  if (parameters.has("preconditioner")) {
    parts.preconditioner = make_preconditioner(parts.iterating(), parameters.group("preconditioner"));
  }
  return entry.make(parts, parameters);
}

const Parameter& solver_parameter(const std::string& name) {
  for (const Parameter& parameter : solver_table().parameters) {
    if (parameter.name == name) return parameter;
  }
  throw Error(ErrorCode::internal, fmt::format("the table of solvers has no parameter '{}'", name));
}

OperatorForm operator_form(const Parameters& sloppy) {
  return {parse_precision(sloppy.text("precision")), parse_reconstruct(sloppy.text("reconstruct")),
          sloppy.boolean("temporal_gauge")};
}

std::string unused_words(const Parameters& block) {
  if (parse_scheme(block.text("scheme")) != Scheme::uniform) return "";
  std::string unused;
  for (const char* name : {"delta", "sloppy"}) {
    if (block.given(name)) unused += fmt::format("{}'solver.{}'", unused.empty() ? "" : " and ", name);
  }
  const bool both = unused.find(" and ") != std::string::npos;
  return unused.empty() ? "" : fmt::format("{} {} not used by scheme: uniform", unused, both ? "are" : "is");
}

namespace {

DeflationSettings deflation_settings(const Parameters& own) {
  if (!own.has("deflation")) return {};
  const Parameters& group = own.group("deflation");
  return {int(group.integer("vectors")), int(group.integer("window")), int(group.integer("modes"))};
}

void check_deflation(const SolverSpec& spec, const Parameters& block) {
  const DeflationSettings settings = deflation_settings(block);
  if (settings.vectors == 0) return;
  const Parameters& group = block.group("deflation");
  if (spec.scheme == Scheme::defect) {
    throw Error(ErrorCode::invalid_input,
                "deflation goes with scheme: reliable or uniform; the inner solves of defect correction begin anew",
                block.where("deflation"));
  }
  if (settings.window <= 2 * settings.modes) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("window is {} and must be more than twice modes, {}", settings.window, settings.modes),
                group.where(group.given("window") ? "window" : "modes"));
  }
}

/// Its coarse corrections are those of the asymmetric form.
void settle_multigrid(SolverSpec& spec, const Parameters& preconditioning) {
  if (spec.preconditioning.kind == EvenOddForm::Kind::symmetric) {
    throw Error(ErrorCode::invalid_input, "type: multigrid goes with form: asymmetric", preconditioning.where("form"));
  }
  spec.preconditioning.kind = EvenOddForm::Kind::asymmetric;
  (void)multigrid_settings(spec.own);
}

}  // namespace

SolverSpec solver_spec(const Parameters& block) {
  SolverSpec spec;
  spec.type = block.text("type");
  spec.tolerance = block.real("tolerance");
  spec.max_iterations = int(block.integer("max_iterations"));
  spec.scheme = parse_scheme(block.text("scheme"));
  spec.precision = parse_precision(block.text("precision"));
  spec.reconstruct = parse_reconstruct(block.text("reconstruct"));
  spec.delta = block.real("delta");
  spec.sloppy = operator_form(block.group("sloppy"));
  const Parameters& preconditioning = block.group("preconditioning");
  spec.preconditioning.kind = parse_form(preconditioning.text("form"));
  spec.preconditioning.kept = preconditioning.text("parity") == "odd" ? Parity::Odd : Parity::Even;
  spec.own = block;
  if (spec.scheme != Scheme::uniform && spec.precision != Precision::Double) {
    throw Error(
        ErrorCode::invalid_input,
        fmt::format("precision: {} goes with scheme: uniform only; the outer operator of scheme: {} is double, and "
                    "sloppy.precision sets the inner one",
                    to_string(spec.precision), to_string(spec.scheme)),
        block.where("precision"));
  }
  check_deflation(spec, block);
  if (spec.type == "multigrid") settle_multigrid(spec, preconditioning);
  return spec;
}

const SolverEntry& find_solver(const std::string& name) {
  for (const SolverEntry& entry : solver_registry()) {
    if (entry.name == name) return entry;
  }
  throw Error(ErrorCode::invalid_input,
              fmt::format("unknown solver '{}'; the solvers are {}", name, fmt::join(names(), ", ")));
}

double delta_used(const SolverSpec& spec) {
  const SolverEntry& entry = find_solver(spec.type);
  if (spec.scheme != Scheme::reliable || entry.delta_used == nullptr) return spec.delta;
  return entry.delta_used(spec.delta, spec.sloppy.precision);
}

std::shared_ptr<DeflationSpace> make_deflation(const SolverSpec& spec, const LinearOperator& outer,
                                               const LinearOperator* inner) {
  const DeflationSettings settings = deflation_settings(spec.own);
  if (settings.vectors == 0) return nullptr;
  return std::make_shared<DeflationSpace>(outer, spec.scheme == Scheme::uniform ? outer : *inner, settings);
}

std::unique_ptr<Solver> make_solver(const SolverSpec& spec, const LinearOperator& outer, const LinearOperator* inner,
                                    std::shared_ptr<DeflationSpace> deflation,
                                    std::shared_ptr<const LinearOperator> preconditioner) {
  const SolverEntry& entry = find_solver(spec.type);
  SolverParts parts{.outer = outer, .preconditioner = std::move(preconditioner)};
  if (spec.scheme == Scheme::uniform) {
    parts.deflation = std::move(deflation);
    return make_method(entry, parts, spec.own);
  }
  if (!inner)
    throw Error(ErrorCode::internal, fmt::format("scheme {} needs an inner operator", to_string(spec.scheme)));
  if (spec.scheme == Scheme::defect) {
    const SolverParts inner_parts{.outer = *inner, .preconditioner = parts.preconditioner};
    return make_defect_correction(outer, *inner, make_method(entry, inner_parts, spec.own), spec.delta);
  }
  parts.inner = inner;
  parts.delta = spec.delta;
  parts.deflation = std::move(deflation);
  return make_method(entry, parts, spec.own);
}

}  // namespace quadrille
