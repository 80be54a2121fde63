#include "core/numbers/precision.h"

#include "core/error.h"

namespace quadrille {

std::string to_string(Precision p) {
  return p == Precision::Double ? "double" : p == Precision::Single ? "single" : "half";
}

Precision parse_precision(const std::string& name) {
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    if (name == to_string(p)) return p;
  }
  throw Error(ErrorCode::invalid_input, "unknown precision '" + name + "'; the precisions are double, single and half");
}

std::string to_string(Reconstruct r) { return std::to_string(int(r)); }

Reconstruct parse_reconstruct(const std::string& name) {
  for (Reconstruct r : {Reconstruct::R18, Reconstruct::R12, Reconstruct::R8}) {
    if (name == to_string(r)) return r;
  }
  throw Error(ErrorCode::invalid_input, "unknown reconstruction '" + name + "'; the reconstructions are 18, 12 and 8");
}

}  // namespace quadrille
