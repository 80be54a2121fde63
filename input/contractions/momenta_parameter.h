// The parameter `momenta` of tasks that compute correlators.
#pragma once

#include "core/dims.h"
#include "core/parameters/parameters.h"
#include "input/contractions/momenta.h"

#include <vector>

namespace quadrille {

/// `momenta: {p2_max: N}`, or N alone.
Parameter momenta_parameter();
/// Appends an error when the lattice has fewer different momenta along a side than are asked for.
void check_momenta(const Parameters& task, const Dims& dims, std::vector<Error>& errors);
std::vector<Momentum> momenta_of(const Parameters& task);

}  // namespace quadrille
