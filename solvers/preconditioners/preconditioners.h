// The preconditioners by name, for the `preconditioner` group of the solvers that take one.
#pragma once

#include "core/operator/operator.h"
#include "core/parameters/parameters.h"

#include <memory>
#include <string>
#include <vector>

namespace quadrille {

struct PreconditionerEntry {
  std::string name;
  ParameterTable table;
  /// An approximate inverse of `a`, which outlives it, on the fields of `a`.
  std::shared_ptr<const LinearOperator> (*make)(const LinearOperator& a, const Parameters& parameters);
};
const std::vector<PreconditionerEntry>& preconditioner_registry();

/// The variant parameter `preconditioner`.
Parameter preconditioner_parameter();

/// What a resolved `preconditioner` names, for `a`.
std::shared_ptr<const LinearOperator> make_preconditioner(const LinearOperator& a, const Parameters& parameters);

}  // namespace quadrille
