// Momenta of correlators: p = 2 pi n / L with whole numbers n for x, y, z.
#pragma once

#include "core/api.h"
#include "core/dims.h"

#include <array>
#include <complex>
#include <vector>

namespace quadrille {

using Momentum = std::array<int, 3>;

/// All n with n^2 <= `most`, by n^2, then in the order of their components.
QUADRILLE_API std::vector<Momentum> momenta_up_to(int most);

/// exp(-2 pi i n x / extent): n x is reduced first, so that any x gives a phase to the last digit; a quarter of the
/// circle has no rounding.
QUADRILLE_API std::complex<double> momentum_phase(std::int64_t n, std::int64_t x, int extent);

}  // namespace quadrille
