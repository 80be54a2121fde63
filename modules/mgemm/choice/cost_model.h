// When the split of a product is worth its while.
#pragma once

#include "modules/mgemm/choice/factor_profile.h"

namespace quadrille::mgemm {

/// Costs in units of a flop of OpenBLAS's double-precision product. The defaults are those of an AVX2 processor (AMD
/// EPYC 7003, 2 cores).
struct CostModel {
  double single_flop = 0.5;         ///< of the dense product in single
  double large_flop = 6;            ///< of the sparse products
  double split_element = 200;       ///< analysis and conversion of an element of A or B
  double add_element = 70;          ///< adding a sum in single to an element of C
  double smallest_product = 1.5e9;  ///< m n k below which a product is done in double without analysis

  double plain(const ProductShape& s) const { return 2 * double(s.m) * double(s.n) * double(s.k); }
  /// Of a product whose factors are split already.
  double split_product(const ProductShape& s, const LargeCounts& large, std::int64_t depth) const {
    const double m = double(s.m), n = double(s.n), k = double(s.k);
    const double sums = double((s.k + depth - 1) / depth);
    return single_flop * 2 * m * n * k + large_flop * 2 * (double(large.a) * n + double(large.b) * m) +
           add_element * m * n * sums;
  }
  double split(const ProductShape& s, const LargeCounts& large, std::int64_t depth) const {
    return split_product(s, large, depth) + split_element * double(s.k) * double(s.m + s.n);
  }
};

}  // namespace quadrille::mgemm
