#include "input/bench/deviations.h"

#include "core/error.h"

#include <algorithm>
#include <cmath>

namespace quadrille::bench {

Deviations::Deviations(const HostSpinor& result, const std::vector<Extended>& reference) {
  if (result.data.size() != reference.size()) {
    throw Error(ErrorCode::internal, "deviations: the result and the reference have different sizes");
  }
  long double squares = 0;
  sorted_.reserve(2 * reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const Extended difference = Extended(result.data[i]) - reference[i];
    squares += std::norm(reference[i]);
    sorted_.push_back(double(std::abs(difference.real())));
    sorted_.push_back(double(std::abs(difference.imag())));
  }
  const double unit = double(std::sqrt(squares / (2 * static_cast<long double>(reference.size()))));
  for (double& deviation : sorted_) {
    deviation /= unit;
    if (!std::isfinite(deviation)) {
      throw Error(ErrorCode::numerical, "deviations: a number of the result or of the reference is not finite");
    }
  }
  std::sort(sorted_.begin(), sorted_.end());
}

double Deviations::smallest() const {
  const auto first = std::upper_bound(sorted_.begin(), sorted_.end(), 0.0);
  return first == sorted_.end() ? 0 : *first;
}

double Deviations::quantile(double q) const {
  return sorted_[std::size_t(std::llround(q * double(sorted_.size() - 1)))];
}

std::vector<Deviations::Point> Deviations::curve(int per_decade) const {
  std::vector<Point> points;
  if (smallest() == 0) return points;
  int step = int(std::floor(std::log10(smallest()) * per_decade));
  const auto epsilon = [&] { return std::pow(10.0, double(step) / per_decade); };
  while (epsilon() >= smallest()) --step;  // where the logarithm was rounded up
  for (;; ++step) {
    const auto within = std::upper_bound(sorted_.begin(), sorted_.end(), epsilon()) - sorted_.begin();
    points.push_back({epsilon(), double(within) / double(count())});
    if (std::size_t(within) == count()) return points;
  }
}

}  // namespace quadrille::bench
