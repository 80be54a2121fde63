#include "input/tasks/checks.h"

#include "dirac/registry.h"
#include "dirac/systems/even_odd.h"

namespace quadrille {

void check_outer_form(const OperatorForm& outer, const Location& where, const Parameters& op, const LoadedGauge& gauge,
                      std::vector<Error>& errors) {
  if (outer.reconstruct == Reconstruct::R18) return;
  try {
    const EvenOddSystem system(find_operator(op.text("type")).make(gauge.links, op));
    (void)system.converted(outer);
  } catch (const Error& error) {
    errors.emplace_back(error.code(), error.what(), where);
  }
}

}  // namespace quadrille
