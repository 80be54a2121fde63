#include "modules/mgemm/magnitude_sample.h"

#include <cmath>
#include <limits>

namespace quadrille::mgemm {

bool MagnitudeSample::finite() const { return std::isfinite(largest()); }

double MagnitudeSample::largest() const {
  double most = 0;
  for (const double x : magnitudes_) {
    if (!(x <= most)) most = x;
    if (std::isnan(most)) break;
  }
  return most;
}

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
  double small = 0;
  std::vector<double> above;
  for (const double x : magnitudes_) {
    if (x <= deltas.front()) {
      small += x * x;
    } else {
      above.push_back(x);
    }
  }
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
