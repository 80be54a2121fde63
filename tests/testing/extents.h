// Extents that every test of fields and operators runs on.
#pragma once

#include "core/dims.h"

#include <vector>

namespace quadrille::testing {

/// Extents that cut into full vectors, into fewer lanes, and not at all; one with more than one chunk of a sum.
inline const std::vector<Dims> test_extents = {{4, 4, 4, 4}, {4, 6, 8, 10}, {12, 4, 2, 6}, {16, 8, 4, 8}, {6, 6, 6, 6}};

}  // namespace quadrille::testing
