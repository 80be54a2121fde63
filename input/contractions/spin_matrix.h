// 4 x 4 matrices of spins, in the DeGrand-Rossi basis.
#pragma once

#include "core/api.h"
#include "core/dims.h"

#include <array>
#include <string>

namespace quadrille {

using SpinMatrix = std::array<std::array<Complex, 4>, 4>;

/// `factor` times the gamma matrix of this name (gamma.h).
QUADRILLE_API SpinMatrix of_gamma(const std::string& name, Complex factor = 1);
QUADRILLE_API SpinMatrix operator+(SpinMatrix a, const SpinMatrix& b);
QUADRILLE_API SpinMatrix operator*(const SpinMatrix& a, const SpinMatrix& b);

}  // namespace quadrille
