// What the choice of a form, and the bounds of its error, need to know of the factors of a product.
#pragma once

#include "core/api.h"
#include "modules/shared/dense/dense_view.h"
#include "modules/shared/dense/panel_plan.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::mgemm {

/// Of all lines of a factor, for one cutoff: rows of the left factor, columns of the right one.
struct CutoffExtremesOfLines {
  double small_squares = 0;     ///< largest sum of squares of a line's small elements
  double all_squares = 0;       ///< of all its elements; infinite when unknown, or too large
  std::int64_t large = 0;       ///< elements above the cutoff
  std::int64_t most_large = 0;  ///< in one line
};

/// What is known of a factor, for rising cutoffs.
struct FactorProfile {
  double max_abs = 0;
  std::vector<double> deltas;
  std::vector<CutoffExtremesOfLines> extremes;
  std::vector<double> small_squares = {};  ///< of each line, for the first cutoff; none of a factor on a device
};

/// A product whose factors have profiles for the same cutoffs.
struct AnalysedProduct {
  ProductShape shape;
  FactorProfile a, b;
  bool swapped = false;  ///< as Operands::swapped
};

/// Large elements of A and B.
struct LargeCounts {
  std::int64_t a = 0, b = 0;
};
inline LargeCounts large_of(const AnalysedProduct& product, std::size_t cutoff) {
  return {product.a.extremes[cutoff].large, product.b.extremes[cutoff].large};
}

/// Where a larger fraction of a factor's elements is large they are not listed, and larger cutoffs not looked at.
constexpr double most_listed = 0.04;
constexpr std::int64_t listed_of(std::int64_t elements, double fraction = most_listed) {
  return std::int64_t(fraction * double(elements)) + 1;
}

/// Of a factor whose lines are the rows of `lines`, for rising cutoffs: the first alone where more than that fraction
/// of the elements is above it.
QUADRILLE_API FactorProfile profile_on_host(DenseView<const double> lines, double max_abs,
                                            const std::vector<double>& deltas, double listed_fraction = most_listed);

}  // namespace quadrille::mgemm
