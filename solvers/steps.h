// The fused passes of the solvers on fields. Each stands beside its method (methods/cg_steps.h,
// methods/bicgstab_steps.h, methods/mr_steps.h) with its formulas.
//
// Their scalars stay where the fields are: a pass takes what it needs from them, leaves in them what it forms, and does
// not synchronise with the host. Once they say that the iteration has ended a pass does nothing, as their type
// describes.
#pragma once

#include "core/blas/launch.h"
#include "solvers/step_list.h"

namespace quadrille::steps {

/// The passes as one set.
const OpSet& op_set();

/// One pass over fields in the order of its functor. Throws as core/blas/blas.h does.
template <class Op>
void run(const Op& op, const FieldsOf<Op>& fields, ResidentScalars<typename Op::Scalars>& scalars) {
  launch_resident(op_set(), Steps::number_of<Op>(), op, fields, scalars);
}

}  // namespace quadrille::steps
