// Right-hand sides of solves that are made for their own sake: the spins and colors of a point, or Gaussian numbers.
#pragma once

#include "core/field/field.h"
#include "core/parameters/parameters.h"

namespace quadrille {

/// The parameter `source: {type: point | gaussian, ..., count: N}`.
Parameter right_hand_sides();
/// Throws (invalid_input, with the place in the job) when it does not fit a lattice of `dims`.
void check_right_hand_sides(const Parameters& source, const Dims& dims);
/// b = number `k` of them, on the full lattice.
void make_right_hand_side(Field& b, const Parameters& source, int k);

}  // namespace quadrille
