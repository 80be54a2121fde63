// The gamma matrices of correlators, in the DeGrand-Rossi basis (core/field/spin_basis.h): Hermitian matrices gx, gy,
// gz, gt and g5 = gx gy gz gt, and their products. Each row of each product has one number, a power of i.
#pragma once

#include "core/api.h"

#include <array>
#include <string>
#include <vector>

namespace quadrille {

/// A matrix whose row r is i^power[r] in column[r] and zero elsewhere.
struct Gamma {
  std::array<int, 4> column{0, 1, 2, 3};
  std::array<int, 4> power{};  ///< 0..3

  bool operator==(const Gamma&) const = default;
};

QUADRILLE_API Gamma operator*(const Gamma& a, const Gamma& b);
QUADRILLE_API Gamma adjoint(const Gamma& a);
QUADRILLE_API Gamma gamma5();

/// The 16 products that span the spin matrices: "1", "g5", "gx", ..., "gxg5", ..., "gxgy", ...: the factors of a name
/// in the order of the product.
QUADRILLE_API const std::vector<std::string>& gamma_names();
/// ErrorCode::internal for any other name.
QUADRILLE_API Gamma gamma_named(const std::string& name);

/// The sign s of gamma5 G^+ gamma5 = s G: +1 or -1 for each of the 16.
QUADRILLE_API int reversal_sign(const Gamma& gamma);

}  // namespace quadrille
