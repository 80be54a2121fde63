#include "modules/mgemm/cutoffs.h"

#include <cmath>
#include <cstddef>

namespace quadrille::mgemm {

std::vector<double> cutoffs_of(const Cutoff& cutoff, double quantile, double largest_magnitude) {
  if (!cutoff.automatic) return {cutoff.delta};
  constexpr std::size_t most = 64;
  const bool finite = quantile > 0 && std::isfinite(quantile);
  std::vector<double> deltas{finite ? std::exp2(std::ceil(std::log2(quantile))) : 0};
  while (deltas.back() < largest_magnitude) {
    const bool doubles = deltas.back() > 0 && deltas.size() + 1 < most;
    deltas.push_back(doubles ? 2 * deltas.back() : largest_magnitude);
  }
  return deltas;
}

}  // namespace quadrille::mgemm
