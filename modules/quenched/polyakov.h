// Polyakov loops from the products of time links that each rank has.
#pragma once

#include "core/comm/communicator.h"
#include "core/su3/su3.h"

#include <array>
#include <vector>

namespace quadrille::quenched {

/// The sum over space of the traces of the loops: re, im. `products`: of this rank's time links at each place of its
/// space, in the order of t. Where ranks divide t, those along it take turns, and the last one gives the sum of their
/// loops, the others 0. Collective.
std::array<double, 2> loop_traces(std::vector<Matrix3> products, const Communicator& ranks);

}  // namespace quadrille::quenched
