// Sources on one time slice: their parameters, and how their numbers are put into a field.
#pragma once

#include "core/dims.h"
#include "core/field/field.h"
#include "core/parameters/parameters.h"

#include <functional>

namespace quadrille {

/// The parameter `time`, and `momentum: [n_x, n_y, n_z]`.
Parameter time_parameter();
Parameter momentum_parameter();

/// ErrorCode::invalid_input with the place of `time` when the lattice has no such slice.
void check_time(const Parameters& source, const Dims& dims);

/// The slice, with 0 for x, y, z: from there the phases of correlators are counted.
Dims time_slice_position(const Parameters& source);

/// b = exp(2 pi i n x / L) f(x) in one spin (0..3, DeGrand-Rossi) and color at the time and with the momentum of the
/// source, 0 elsewhere. f gets global coordinates, and is called by several threads.
void fill_time_slice(Field& b, const Parameters& source, int spin, int color,
                     const std::function<Complex(const Dims& x)>& f);

}  // namespace quadrille
