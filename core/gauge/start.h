// Starting gauge configurations.
#pragma once

#include "core/api.h"
#include "core/host_field.h"
#include "core/lattice.h"

#include <cstdint>

namespace quadrille {

/// All links the unit matrix.
QUADRILLE_API HostLinks cold_start(const Lattice& lattice);
/// Links independent and uniform in SU(3) (Haar measure: QR of a complex Gaussian matrix, determinant divided out).
QUADRILLE_API HostLinks hot_start(const Lattice& lattice, std::uint64_t seed);
/// Links exp(i epsilon H) with H = sum_a h_a lambda_a / 2, h_a independent normal numbers, lambda_a Gell-Mann matrices.
QUADRILLE_API HostLinks weak_start(const Lattice& lattice, std::uint64_t seed, double epsilon);

/// A random gauge transformation, one SU(3) matrix a site (Haar measure), lexicographic: [site][row][column].
QUADRILLE_API std::vector<Complex> random_transformation(const Lattice& lattice, std::uint64_t seed);

}  // namespace quadrille
