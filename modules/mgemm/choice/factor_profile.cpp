#include "modules/mgemm/choice/factor_profile.h"

#include "modules/shared/dense/magnitude_split.h"

#include <algorithm>
#include <limits>

namespace quadrille::mgemm {

FactorProfile profile_on_host(DenseView<const double> lines, double max_abs, const std::vector<double>& deltas,
                              double listed_fraction) {
  MagnitudeProfile found =
      profile_magnitudes(lines, deltas.front(), listed_of(lines.rows * lines.cols, listed_fraction));
  FactorProfile profile{max_abs, {}, {}, found.row_squares};
  std::vector<double> small = found.row_squares, all = small;
  const auto most = [](const auto& of_lines) { return *std::max_element(of_lines.begin(), of_lines.end()); };
  if (!found.listed) {
    profile.deltas = {deltas.front()};
    profile.extremes = {{most(small), std::numeric_limits<double>::infinity(), found.count, lines.cols}};
    return profile;
  }
  profile.deltas = deltas;
  std::vector<std::int64_t> counts(small.size());
  for (const MagnitudeProfile::Larger& e : found.larger) {
    all[std::size_t(e.row)] += e.magnitude * e.magnitude;
    ++counts[std::size_t(e.row)];
  }
  auto large = found.larger.begin();
  for (const double delta : deltas) {
    const auto rest = std::partition(large, found.larger.end(), [&](const auto& e) { return e.magnitude <= delta; });
    for (; large != rest; ++large) {
      small[std::size_t(large->row)] += large->magnitude * large->magnitude;
      --counts[std::size_t(large->row)];
    }
    profile.extremes.push_back({most(small), most(all), found.larger.end() - large, most(counts)});
  }
  return profile;
}

}  // namespace quadrille::mgemm
