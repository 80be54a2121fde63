// The cutoffs that an automatic choice tries, for products here and on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille::mgemm {

/// An automatic cutoff is not sought below the magnitude that half of this fraction of a sample exceeds. Where more
/// elements than this are large, larger cutoffs are not looked at.
constexpr double most_listed = 0.04;

/// The quantile of magnitudes below which no cutoff is sought.
constexpr double cutoff_quantile = 1 - most_listed / 2;

/// The large elements that are listed, of so many.
constexpr std::int64_t listed_of(std::int64_t elements) { return std::int64_t(most_listed * double(elements)) + 1; }

/// The power of two that is not below the quantiles of samples of A and B; 0 where they are 0 or not finite.
double smallest_cutoff(double quantile_a, double quantile_b);

/// From the smallest: its doubles, up to the first that leaves no large element.
std::vector<double> rising_cutoffs(double smallest, double largest_magnitude);

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
