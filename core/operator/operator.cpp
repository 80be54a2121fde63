#include "core/operator/operator.h"

#include "core/error.h"
#include "core/field/convert.h"

namespace quadrille {

std::string to_string(const OperatorForm& form) {
  return to_string(form.precision) + " " + to_string(form.reconstruct) + (form.temporal_gauge ? " temporal gauge" : "");
}

void LinearOperator::apply_each(OperandList list, Dagger dagger) const {
  for (const Operands& call : list) apply(*call.y, *call.x, dagger);
}

std::string LinearOperator::form_name() const { return to_string(field_desc().precision); }

void LinearOperator::enter(Field& mine, const Field& original) const { convert(mine, original); }
void LinearOperator::leave(Field& original, const Field& mine) const { convert(original, mine); }

const LinearOperator& LinearSystem::full() const {
  throw Error(ErrorCode::unsupported, "this system has no operator on the full lattice");
}

}  // namespace quadrille
