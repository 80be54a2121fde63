// Extents of a lattice, and the complex numbers of what the host holds.
#pragma once

#include <array>
#include <complex>
#include <cstdint>

namespace quadrille {

using Complex = std::complex<double>;
using Dims = std::array<int, 4>;  ///< x, y, z, t

constexpr std::int64_t volume(const Dims& dims) { return std::int64_t(dims[0]) * dims[1] * dims[2] * dims[3]; }

}  // namespace quadrille
