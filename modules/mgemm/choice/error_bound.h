// How far a mixed-precision product may be from the exact one.
//
// With A = A_L + A_S and B = B_L + B_S, the product is A_L B + A_S B_L in double and A_S B_S in single, in sums of at
// most `depth` terms that are added up in double. Each product a b of A_S B_S is rounded at most depth + 2 times in
// single (twice by the conversion, depth times by the product and its sum in any order), so by Higham (Accuracy and
// Stability of Numerical Algorithms, 2nd ed., SIAM 2002, lemmas 3.1 and 3.3, eq. 3.5), with gamma_n = n u / (1 - n u),
//
//   |error_ij| <= gamma_{depth+2}(2^-24) (|A_S| |B_S|)_ij + (1 + gamma) gamma_N(2^-53) (|A| |B|)_ij + underflow,
//
// where N = k + 2 (r_A + r_B) + 8 counts the roundings in double, r_A and r_B being the largest numbers of large
// elements in a row of A and a column of B; underflow is k 2^-149 (1 + max|A_S| + max|B_S|). By Cauchy and Schwarz
// (|A| |B|)_ij is at most the product of the largest 2-norms of a row of A and a column of B: that is what is computed,
// in one pass over each matrix. Short sums make it sharp: a single sum over k would have gamma_{k+2}.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/factor_profile.h"

#include <cstddef>
#include <cstdint>
#include <limits>

namespace quadrille::mgemm {

/// Unit roundoffs.
inline constexpr double single_roundoff = 0x1p-24, double_roundoff = 0x1p-53;
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// gamma_n = n u / (1 - n u); infinite when n u >= 1.
QUADRILLE_API double gamma_bound(double n, double unit_roundoff);

/// gamma_n of single precision in the probabilistic model (see ErrorBound), for all sums of the product at once.
QUADRILLE_API double probable_gamma(double n, const ProductShape& shape);

/// Largest absolute error of an element of A B.
struct ErrorBound {
  double certain = 0;      ///< always holds
  double probable = 0;     ///< with probability 1 - 1e-6 if rounding errors in single are independent and of mean 0
                           ///< (Higham, Mary, SIAM J. Sci. Comput. 41 (2019) A2815, doi:10.1137/18M1226312: gamma_n
                           ///< becomes exp(lambda sqrt(n) u + n u^2 / (1 - u)) - 1)
  double small_norms = 0;  ///< the product of the largest 2-norms of small elements
  double in_double = 0;    ///< the part of both bounds that single precision has nothing to do with
};

/// The largest 2-norms of a line: of its small elements, and of all. At least the exact ones.
struct LineNorms {
  double small = 0, all = 0;
};
QUADRILLE_API LineNorms line_norms(const FactorProfile& profile, std::size_t cutoff, std::int64_t k);

/// For cutoff number `cutoff` of the profiles. Infinite where single precision could overflow.
QUADRILLE_API ErrorBound error_bound(const AnalysedProduct& product, std::size_t cutoff, std::int64_t depth);

/// The bound of a product in double: gamma_{k+2}(2^-53) k max|A| max|B|, and the underflow of k products.
QUADRILLE_API double double_error_bound(std::int64_t k, double max_a, double max_b);

}  // namespace quadrille::mgemm
