// The split of mixed-precision products: elements with |a| > delta are "large" and kept in double in a sparse list, the
// rest goes to single precision in the same pass (Olivares-Amaya, Watson, Edgar, Vogt, Shao, Aspuru-Guzik, JCTC 6
// (2010) 135, doi:10.1021/ct900543q).
#pragma once

#include "core/api.h"
#include "modules/shared/dense/dense_view.h"

#include <cstdint>
#include <vector>

namespace quadrille {

/// The large elements of an m x k matrix that is to be multiplied from the left: in slabs of `large_slab` columns, in
/// each by rows and then columns. The slab's columns that hold any are numbered, so that a product gathers from a
/// buffer that holds only those.
struct LargeElements {
  struct Row {
    std::int32_t row, count;
    std::int64_t first;  ///< its elements are [first, first + count)
  };
  struct Slab {
    std::vector<std::int32_t> columns;  ///< of the matrix, increasing
    std::vector<Row> rows;              ///< those with elements, increasing
  };
  std::vector<Slab> slabs;          ///< those with elements, in order
  std::vector<std::int32_t> slots;  ///< of each element: its column's place in the slab's `columns`
  std::vector<double> values;

  std::int64_t count() const { return std::int64_t(values.size()); }
};

constexpr std::int64_t large_slab = 2048;
/// An upper bound of what LargeElements takes for each element, with what the split needs on the way.
constexpr std::int64_t large_element_bytes = 80;

/// Writes fl32(a) of each small element and 0 of each large one to `small`, in the storage order of `a` and without
/// gaps (rows x cols floats), and overwrites `large`. Elements must be finite (check_finite); rows and cols are below
/// 2^31. The result does not depend on the number of threads.
template <class T>
QUADRILLE_API DenseView<float> split_by_magnitude(DenseView<const T> a, double delta, float* small,
                                                  LargeElements& large);

/// Largest magnitude, and where the first element that is not finite stands (row -1: nowhere).
struct FiniteCheck {
  double max_abs = 0;  ///< of the finite elements
  std::int64_t row = -1, col = -1;
};
template <class T>
QUADRILLE_API FiniteCheck check_finite(DenseView<const T> a);

/// What the error bound of a product needs to know of one of its matrices, for the cutoff delta and for larger ones.
struct MagnitudeProfile {
  struct Larger {
    double magnitude;
    std::int32_t row;
  };
  double delta = 0;
  std::vector<double> row_squares;  ///< sum of a^2 over the small elements of each row
  std::vector<Larger> larger;       ///< the large elements, unless there are more than `listed` allows
  std::int64_t count = 0;           ///< of the large elements
  bool listed = true;
};

/// One pass over `a`; at most `max_listed` large elements are listed. Sums are in a fixed order.
template <class T>
QUADRILLE_API MagnitudeProfile profile_magnitudes(DenseView<const T> a, double delta, std::int64_t max_listed);

/// The magnitude below or at which a fraction `quantile` of a sample of about 2^15 elements lies (fixed places).
template <class T>
QUADRILLE_API double sampled_quantile(DenseView<const T> a, double quantile);

}  // namespace quadrille
