#include "solvers/preconditioners/preconditioners.h"

#include "core/error.h"
#include "solvers/methods/methods.h"
#include "solvers/parameter_ranges.h"
#include "solvers/preconditioners/mr.h"
#include "solvers/preconditioners/solver_operator.h"

#include <fmt/format.h>

namespace quadrille {

namespace {

std::shared_ptr<const LinearOperator> make_mr_steps(const LinearOperator& a, const Parameters& p) {
  return std::make_shared<MinimalResidual>(a, int(p.integer("steps")), p.real("omega"));
}

std::shared_ptr<const LinearOperator> make_bicgstab_steps(const LinearOperator& a, const Parameters& p) {
  return std::make_shared<SolverOperator>(a, make_bicgstab({a}), p.real("tolerance"), int(p.integer("max_iterations")));
}

}  // namespace

const std::vector<PreconditionerEntry>& preconditioner_registry() {
  static const std::vector<PreconditionerEntry> registry = {
      {"mr",
       {.name = "preconditioner mr",
        .help = "a few steps of MR, in the precision of the iterations",
        .parameters = {count("steps", 1000, "4", "operator applications in one application of the preconditioner"),
                       between("omega", 0, 2, "0.85", "relaxation")}},
       make_mr_steps},
      {"bicgstab",
       {.name = "preconditioner bicgstab",
        .help = "an incomplete solve by BiCGstab, in the precision of the iterations",
        .parameters = {between("tolerance", 0, 1, "0.1", "relative residual at which it ends"),
                       count("max_iterations", 1000, "10", "or iterations after which it does")}},
       make_bicgstab_steps},
  };
  return registry;
}

Parameter preconditioner_parameter() {
  Parameter p;
  p.name = "preconditioner";
  p.type = ParameterType::variant;
  p.help = "an approximate inverse applied in each iteration; without it: none";
  for (const PreconditionerEntry& entry : preconditioner_registry()) p.entries.push_back({entry.name, entry.table});
  return p;
}

std::shared_ptr<const LinearOperator> make_preconditioner(const LinearOperator& a, const Parameters& parameters) {
  for (const PreconditionerEntry& entry : preconditioner_registry()) {
    if (entry.name == parameters.text("type")) return entry.make(a, parameters);
  }
  throw Error(ErrorCode::internal, fmt::format("preconditioner '{}' is in no table", parameters.text("type")));
}

}  // namespace quadrille
