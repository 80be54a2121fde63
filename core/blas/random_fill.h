// Random spinor fields.
#pragma once

#include "core/api.h"
#include "core/field/field.h"

#include <cstdint>

namespace quadrille {

/// Each real and imaginary part of the spinor field a Gaussian random number of mean 0 and variance 1 (times
/// `sigma`), keyed by seed, global site and component: the same field on any ranks, threads and layout.
QUADRILLE_API void fill_gaussian(Field& x, std::uint64_t seed, double sigma = 1.0);

}  // namespace quadrille
