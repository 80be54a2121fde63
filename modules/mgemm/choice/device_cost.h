// What the steps of a product on a GPU take.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/factor_profile.h"
#include "modules/mgemm/choice/forms.h"

#include <algorithm>

namespace quadrille::mgemm {

/// Rates that large products reach, in units a second. The defaults are those of an H200.
struct DeviceCostModel {
  double double_flops = 57e12;
  double single_flops = 48e12;
  double half_flops = 560e12;
  double integer_flops = 1300e12;    ///< by tuned algorithms; 1080e12 by those that cuBLAS takes itself
  double bytes = 3.8e12;             ///< of large matrices, read or written
  double cached_bytes = 5.0e12;      ///< of panels that the cache holds
  double call = 5e-6;                ///< seconds of one kernel that does nothing
  double wait = 40e-6;               ///< seconds until the host knows what an analysis found
  double smallest_product = 2.7e10;  ///< m n k below which a product is done in double without analysis

  double flops_of(SmallForm form) const {
    switch (form) {
      case SmallForm::single: return single_flops;
      case SmallForm::half2: return half_flops;
      default: return integer_flops;
    }
  }
  double plain(const ProductShape& s) const {
    return call + 2 * double(s.m) * double(s.n) * double(s.k) / double_flops;
  }
  double analysis(const ProductShape& s) const {
    return 2 * wait + 8 * double(s.k) * (double(s.m) + double(s.n)) / bytes;
  }
  double conversion(const ProductShape& s, const FormTraits& form) const {
    return (8 + form.bytes * form.parts) * double(s.k) * (double(s.m) + double(s.n)) / bytes;
  }
  /// Everything but the analysis.
  double split(const ProductShape& s, const LargeCounts& large, const FormTraits& form, std::int64_t depth) const;
};

/// Terms of the longest sum of products of parts r and s with r + s = `order`, in a product with sums of `depth` terms:
/// later sums are smaller and may be longer, in the measure of their rounding. A multiple of 64 where it is not the
/// whole sum.
QUADRILLE_API std::int64_t depth_of_order(const FormTraits& form, std::int64_t depth, int order);

/// Calls of cuBLAS that a product takes; `padded` is the length of lines of one part.
QUADRILLE_API std::int64_t dense_calls(const FormTraits& form, std::int64_t depth, std::int64_t padded);

/// Panels along k that a split product passes through are no shorter, but for the last one and where k is: each adds to
/// C once more.
constexpr std::int64_t shortest_split_panel = 64;

/// Lines of parts are a multiple of this long.
inline std::int64_t padded_length(std::int64_t k) { return (k + 63) / 64 * 64; }

inline double DeviceCostModel::split(const ProductShape& s, const LargeCounts& large, const FormTraits& form,
                                     std::int64_t depth) const {
  const double m = double(s.m), n = double(s.n), k = double(s.k);
  const double calls = double(dense_calls(form, depth, padded_length(s.k)));
  const double merges = form.integer ? form.parts : 1;
  double seconds = conversion(s, form) + form.products() * 2 * m * n * k / flops_of(form.form);
  // Half of what the calls move hides behind their work.
  seconds += calls * (call + 0.5 * 8 * m * n / bytes) + merges * (call + 20 * m * n / bytes);
  seconds += 8 * (double(large.a) * n + double(large.b) * m) / cached_bytes;
  if (large.a > 0) seconds += (16 * m * n + 16 * k * n) / bytes;
  if (large.b > 0) seconds += 8 * m * k / bytes;
  return seconds;
}

}  // namespace quadrille::mgemm
