#include "modules/mgemm/host_profile.h"

#include "core/dense/magnitude_split.h"

#include <algorithm>
#include <limits>

namespace quadrille::mgemm {
namespace {

CutoffExtremesOfLines extremes_at(const MagnitudeProfile& profile, double delta) {
  std::vector<double> small = profile.row_squares, beyond(small.size());
  std::vector<std::int64_t> counts(small.size());
  for (const MagnitudeProfile::Larger& e : profile.larger) {
    const std::size_t row = std::size_t(e.row);
    (e.magnitude <= delta ? small[row] : beyond[row]) += e.magnitude * e.magnitude;
    if (!(e.magnitude <= delta)) ++counts[row];
  }
  CutoffExtremesOfLines most;
  for (std::size_t row = 0; row < small.size(); ++row) {
    most.small_squares = std::max(most.small_squares, small[row]);
    most.all_squares = std::max(most.all_squares, small[row] + beyond[row]);
    most.large += counts[row];
    most.most_large = std::max(most.most_large, counts[row]);
  }
  return most;
}

}  // namespace

FactorProfile profile_on_host(DenseView<const double> lines, double max_abs, const std::vector<double>& deltas,
                              double listed_fraction) {
  const double elements = double(lines.rows) * double(lines.cols);
  const MagnitudeProfile found =
      profile_magnitudes(lines, deltas.front(), std::int64_t(listed_fraction * elements) + 1);
  FactorProfile profile{max_abs, {deltas.front()}, {extremes_at(found, deltas.front())}};
  if (!found.listed) {
    CutoffExtremesOfLines& first = profile.extremes.front();
    first.all_squares = std::numeric_limits<double>::infinity();
    first.large = found.count;
    first.most_large = lines.cols;
    return profile;
  }
  for (std::size_t i = 1; i < deltas.size(); ++i) {
    profile.deltas.push_back(deltas[i]);
    profile.extremes.push_back(extremes_at(found, deltas[i]));
  }
  return profile;
}

}  // namespace quadrille::mgemm
