// The solvers by name, and the `solver` block of a job.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "core/parameters/parameters.h"
#include "solvers/methods/methods.h"
#include "solvers/solver.h"

#include <memory>
#include <string>
#include <vector>

namespace quadrille {

/// How the precisions of a solve work together.
enum class Scheme {
  reliable,  ///< Krylov iterations on the inner operator with reliable updates
  defect,    ///< defect correction around a uniform inner solve
  uniform,   ///< everything on one operator
};
std::string to_string(Scheme scheme);
std::string to_string(EvenOddForm::Kind kind);
/// The inverse; ErrorCode::internal for what no table allows.
Scheme parse_scheme(const std::string& name);

/// A `solver` block.
struct SolverSpec {
  std::string type;            ///< a name in the registry
  double tolerance = 1e-10;    ///< |b - M x| / |b| of the full system
  int max_iterations = 10000;  ///< of one right-hand side, restarts included
  Scheme scheme = Scheme::reliable;
  Precision precision = Precision::Double;     ///< of the outer operator; all there is when uniform
  Reconstruct reconstruct = Reconstruct::R18;  ///< of the outer operator
  double delta = 0.1;                          ///< of reliable updates, or of one cycle of defect correction
  OperatorForm sloppy{Precision::Single, Reconstruct::R12, false};  ///< of the inner operator
  EvenOddForm preconditioning{Parity::Even, EvenOddForm::Kind::automatic};
  Parameters own;  ///< the method's own; empty: its defaults

  OperatorForm outer_form() const { return {precision, reconstruct, false}; }
};

/// The `solver` block of a job, whose `type` names a method: for each, solver_table() and its own parameters.
const Parameter& solver_variant();

/// A method with its own parameters alone, or its name.
Parameter method_variant();

/// The parameters that all methods have.
const ParameterTable& solver_table();

/// What resolved parameters say. ErrorCode::invalid_input with the place when they contradict each other.
QUADRILLE_API SolverSpec solver_spec(const Parameters& block);

/// What was given in a `solver` block without effect, a sentence; empty when there is nothing.
QUADRILLE_API std::string unused_words(const Parameters& block);

/// One parameter of solver_table(), for tables that vary it. ErrorCode::internal for a name that it lacks.
const Parameter& solver_parameter(const std::string& name);
/// A `sloppy` group.
OperatorForm operator_form(const Parameters& sloppy);

struct SolverEntry {
  std::string name;
  std::string help;
  std::vector<Parameter> own;  ///< parameters beside those of solver_table()
  /// `parameters` has what `own` says.
  std::unique_ptr<Solver> (*make)(const SolverParts& parts, const Parameters& parameters);
  double (*delta_used)(double delta, Precision inner);  ///< of reliable updates; null: as it is given
  /// What propagator files call the method, its tolerance and its limit (Chroma's <invType> and the elements beside
  /// it).
  std::string file_type, file_tolerance, file_limit;
};
QUADRILLE_API const std::vector<SolverEntry>& solver_registry();

/// The solver of an entry with the parameters that it is given, or with its defaults where these are empty. A
/// `preconditioner` among them is made for the operator that iterates.
std::unique_ptr<Solver> make_method(const SolverEntry& entry, SolverParts parts, const Parameters& own);

/// The entry of this name; ErrorCode::invalid_input with the known names otherwise.
QUADRILLE_API const SolverEntry& find_solver(const std::string& name);

/// The delta that this solver uses in place of the one that is given.
QUADRILLE_API double delta_used(const SolverSpec& spec);

/// The space that all solvers of a spec are to share; null where it asks for none. Operators as in make_solver().
QUADRILLE_API std::shared_ptr<DeflationSpace> make_deflation(const SolverSpec& spec, const LinearOperator& outer,
                                                             const LinearOperator* inner);

/// The solver that a spec describes. `inner` is ignored by the uniform scheme and needed by the others. Both operators
/// outlive the solver. For an unknown type what find_solver() throws. `preconditioner`: one that the method is given,
/// not made from its own parameters, as by multigrid.
QUADRILLE_API std::unique_ptr<Solver> make_solver(const SolverSpec& spec, const LinearOperator& outer,
                                                  const LinearOperator* inner,
                                                  std::shared_ptr<DeflationSpace> deflation = nullptr,
                                                  std::shared_ptr<const LinearOperator> preconditioner = nullptr);

}  // namespace quadrille
