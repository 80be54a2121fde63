// The cutoffs that an automatic choice tries, for products here and on a device.
#pragma once

#include "modules/mgemm/mgemm.h"

#include <cstddef>
#include <vector>

namespace quadrille::mgemm {

/// The quantile of magnitudes below which no cutoff is sought: twice as many elements may be listed as are above it.
constexpr double cutoff_quantile = 1 - most_listed / 2;

/// The cutoffs to look at: a given one alone; of an automatic one the power of two that is not below `quantile`, of
/// which cutoff_quantile it is in A and B (0 where that is 0 or not finite), and its doubles up to the first that
/// leaves no large element.
std::vector<double> cutoffs_of(const Cutoff& cutoff, double quantile, double largest_magnitude);

/// The number of the last of `count` rising cutoffs that is within(number), given that the first is: errors grow with
/// the cutoff.
template <class Within>
std::size_t last_within(std::size_t count, const Within& within) {
  std::size_t good = 0, bad = count;
  while (bad - good > 1) {
    const std::size_t middle = (good + bad) / 2;
    (within(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace quadrille::mgemm
