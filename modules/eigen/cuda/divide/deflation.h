// Deflation in divide and conquer (Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995) 172, section 3.3), decided
// from d and z alone.
#pragma once

#include <vector>

namespace quadrille::eigen {

/// Columns p and q of the vectors become c p + s q and c q - s p.
struct Rotation {
  int p, q;
  double c, s;
};

/// What is left of D + rho z z^T. Kind 1: columns that are zero in the lower half; 3: in the upper half; 2: the others.
struct Deflated {
  std::vector<int> column;          ///< the columns in their new order: kinds 1, 2, 3, then those that are deflated
  std::vector<int> place;           ///< where component i of the secular equation stands among them
  std::vector<double> d, w;         ///< the secular equation 1 / rho + sum w_i^2 / (d_i - x) = 0, d rising
  std::vector<double> rest;         ///< eigenvalues of the deflated columns, in their order
  std::vector<Rotation> rotations;  ///< of the columns, one after the other
  int c1 = 0, c2 = 0;               ///< columns of kinds 1 and 2
};

/// Of n columns of which the first n1 belong to the upper half; `order`: the columns in rising order of d.
Deflated deflate(int n1, std::vector<double> d, std::vector<double> z, const std::vector<int>& order, double rho);

}  // namespace quadrille::eigen
