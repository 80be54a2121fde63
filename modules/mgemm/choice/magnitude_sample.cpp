#include "modules/mgemm/choice/magnitude_sample.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

namespace quadrille::mgemm {

MagnitudeSample::MagnitudeSample(std::vector<double> magnitudes, std::int64_t lines, std::int64_t length)
    : magnitudes_(std::move(magnitudes)), lines_(double(lines)), length_(double(length)) {
  // A small product waits for this. Bits of magnitudes rise as they do, with what is not a number above all.
  std::uint64_t bits = 0;
  for (const double x : magnitudes_) bits = std::max(bits, std::bit_cast<std::uint64_t>(x));
  largest_ = std::bit_cast<double>(bits);
}

bool MagnitudeSample::finite() const { return std::isfinite(largest_); }

double MagnitudeSample::quantile(double fraction) const {
  if (magnitudes_.empty()) return 0;
  std::vector<double> sorted = magnitudes_;
  for (double& x : sorted) x = std::isnan(x) ? std::numeric_limits<double>::infinity() : x;
  const std::size_t place = std::min(sorted.size() - 1, std::size_t(fraction * double(sorted.size())));
  std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(place), sorted.end());
  return sorted[place];
}

FactorProfile MagnitudeSample::profile(const std::vector<double>& deltas) const {
  FactorProfile profile;
  profile.max_abs = largest();
  profile.deltas = deltas;
  const double each =
      magnitudes_.empty() ? 0 : length_ / double(magnitudes_.size());  // of a line, for one in the sample
  double sums[4] = {};                                                 // that do not wait for each other
  for (std::size_t i = 0; i < magnitudes_.size(); ++i) {
    const double x = magnitudes_[i];
    sums[i % 4] += x <= deltas.front() ? x * x : 0;
  }
  const double small = sums[0] + sums[1] + sums[2] + sums[3];
  std::vector<double> above;
  std::copy_if(magnitudes_.begin(), magnitudes_.end(), std::back_inserter(above),
               [&](double x) { return !(x <= deltas.front()); });
  for (const double delta : deltas) {
    double more = 0, beyond = 0;
    std::int64_t large = 0;
    for (const double x : above) {
      (x <= delta ? more : beyond) += x * x;
      large += x <= delta ? 0 : 1;
    }
    const double in_a_line = each * double(large);
    profile.extremes.push_back({each * (small + more), each * (small + more + beyond), std::int64_t(in_a_line * lines_),
                                std::int64_t(std::ceil(in_a_line))});
  }
  return profile;
}

}  // namespace quadrille::mgemm
