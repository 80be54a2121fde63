#include "modules/mgemm/cutoffs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quadrille::mgemm {

double smallest_cutoff(double quantile_a, double quantile_b) {
  const double most = std::max(quantile_a, quantile_b);
  return most > 0 && std::isfinite(most) ? std::exp2(std::ceil(std::log2(most))) : 0;
}

std::vector<double> rising_cutoffs(double smallest, double largest_magnitude) {
  constexpr std::size_t most = 64;
  std::vector<double> deltas{smallest};
  while (deltas.back() < largest_magnitude) {
    const bool doubles = deltas.back() > 0 && deltas.size() + 1 < most;
    deltas.push_back(doubles ? 2 * deltas.back() : largest_magnitude);
  }
  return deltas;
}

}  // namespace quadrille::mgemm
