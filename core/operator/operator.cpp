#include "core/operator/operator.h"

namespace quadrille {

std::string to_string(const OperatorForm& form) {
  return to_string(form.precision) + " " + to_string(form.reconstruct) + (form.temporal_gauge ? " temporal gauge" : "");
}

}  // namespace quadrille
