// The sums that one operation of field algebra gives.
#pragma once

#include <array>

namespace quadrille::blas {

inline constexpr int max_sums = 8;
using Sums = std::array<double, max_sums>;

}  // namespace quadrille::blas
