// What the two parts of a quark line have in common on which a current is.
#pragma once

#include "input/job/job.h"

#include <string>
#include <vector>

namespace quadrille {

/// Why the propagator `back`, from a sequential source, does not go on where the propagator `quark` ends; empty when it
/// does: on the same links, with the same operator but for its mass, and twisted mass and chemical potential reversed.
std::string problem_of_line(const Job& job, const std::string& quark, const std::string& back);

/// What is unusual about a current on this line: another flavour after the current than before it, or another one than
/// the hadron at the sink lacks.
std::vector<std::string> unusual_in_line(const Job& job, const std::string& quark, const std::string& back);

}  // namespace quadrille
