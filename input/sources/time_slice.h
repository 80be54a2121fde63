// Sources on one time slice: their parameters, and how their numbers are put into a field.
#pragma once

#include "core/dims.h"
#include "core/field/field.h"
#include "core/parameters/parameters.h"

#include <filesystem>
#include <functional>

namespace quadrille {

/// The parameter `time`, and `momentum: [n_x, n_y, n_z]`.
Parameter time_parameter(const std::string& help = "the time slice of the source, counted from 0");
Parameter momentum_parameter(
    const std::string& help = "whole numbers n for x, y, z: the source has the phase exp(2 pi i n x / L)");

/// ErrorCode::invalid_input with the place of `time` or `momentum` when the lattice has no such slice, or when the
/// momentum is that of a smaller n.
void check_time_slice(const Parameters& source, const Dims& dims, const std::filesystem::path& job_folder);

/// The slice, with 0 for x, y, z: from there the phases of correlators are counted.
Dims time_slice_position(const Parameters& source);

/// b = the spinors in the DeGrand-Rossi basis that f puts in the place of 12 zeros at a global time, 0 elsewhere. f
/// gets global coordinates, and is called by several threads.
void fill_time_slice(Field& b, int time, const std::function<void(const Dims& x, Complex* spinor)>& f);

/// b = exp(2 pi i n x / L) f(x) in one spin (0..3, DeGrand-Rossi) and color at the time and with the momentum of the
/// source, 0 elsewhere. f gets global coordinates, and is called by several threads.
void fill_time_slice(Field& b, const Parameters& source, int spin, int color,
                     const std::function<Complex(const Dims& x)>& f);

}  // namespace quadrille
