// `--set KEY=VALUE`: changes of a job from the command line.
#pragma once

#include "core/parameters/parameters.h"

#include <string>

namespace quadrille {

/// A usage error of the program (exit status 2) rather than a wrong job.
class WrongCall : public Error {
 public:
  using Error::Error;
};

/// Applies "run[0].source.site=[1,2,3,5]" to `job`. VALUE is YAML; null removes the key. Keys that are missing on the
/// way are created as maps; list entries must exist. A value set so has "--set run[0].source.site" as its place. Throws
/// WrongCall for a path or a value that cannot be read, an index out of range, or a path through a scalar.
void apply_override(Value& job, const std::string& assignment);

}  // namespace quadrille
