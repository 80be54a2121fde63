// Checks that tasks which solve have in common.
#pragma once

#include "core/operator/operator.h"
#include "core/parameters/parameters.h"
#include "input/job/gauge.h"

#include <vector>

namespace quadrille {

/// Does one check and keeps the error that it throws.
template <class Check>
void gather(std::vector<Error>& errors, const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    errors.push_back(error);
  }
}

/// An outer operator with fewer numbers per link than 18 demands more of the links than others do: appends why the
/// operator of the block `op` cannot have the form `outer` on these links. `where` is what asks for it in the job.
void check_outer_form(const OperatorForm& outer, const Location& where, const Parameters& op, const LoadedGauge& gauge,
                      std::vector<Error>& errors);

}  // namespace quadrille
