#include "modules/ri_mp2/stream/analysis.h"

#include "modules/shared/dense/magnitude_split.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace quadrille::ri_mp2 {
namespace {

/// The quantile of about 2^15 magnitudes at fixed places.
class SampledQuantile {
 public:
  explicit SampledQuantile(std::int64_t numbers) : step_(std::max<std::int64_t>(1, numbers >> 15)) {}

  void add(const DenseView<const double>& rows) {
    for (std::int64_t k = step_ / 2; k < rows.rows * rows.cols; k += step_) {
      sample_.push_back(std::abs(rows.line(k / rows.cols)[k % rows.cols]));
    }
  }
  double take(double quantile) {
    if (sample_.empty()) return 0;
    const auto at = sample_.begin() + std::ptrdiff_t(quantile * double(sample_.size() - 1));
    std::nth_element(sample_.begin(), at, sample_.end());
    return *at;
  }

 private:
  std::int64_t step_;
  std::vector<double> sample_;
};

void add_extremes(const mgemm::CutoffExtremesOfLines& of_orbital, mgemm::CutoffExtremesOfLines& all) {
  all.small_squares = std::max(all.small_squares, of_orbital.small_squares);
  all.all_squares = std::max(all.all_squares, of_orbital.all_squares);
  all.large += of_orbital.large;
  all.most_large = std::max(all.most_large, of_orbital.most_large);
}

/// Of a factor with more large elements than are listed the first cutoff alone is known, and little of that.
void keep_first_cutoff(mgemm::FactorProfile& profile, std::int64_t length) {
  profile.deltas.resize(1);
  profile.extremes.resize(1);
  profile.extremes[0].all_squares = std::numeric_limits<double>::infinity();
  profile.extremes[0].most_large = length;
}

}  // namespace

std::int64_t OrbitalAnalysis::most_above(double delta) const {
  for (std::size_t k = 0; k < profile.deltas.size(); ++k) {
    if (profile.deltas[k] == delta) return most_large[k];
  }
  return 0;
}

OrbitalAnalysis analyse_orbitals(const System& system, const EachOrbital& b, const mgemm::Cutoff& cutoff) {
  const std::int64_t numbers = system.pairs() * system.auxiliary;
  OrbitalAnalysis out;
  mgemm::FactorProfile& profile = out.profile;
  SampledQuantile quantile(numbers);
  b([&](const DenseView<const double>& rows) {
    profile.max_abs = std::max(profile.max_abs, check_finite(rows).max_abs);
    if (cutoff.automatic) quantile.add(rows);
  });
  profile.deltas = mgemm::cutoffs_of(cutoff, quantile.take(mgemm::cutoff_quantile), profile.max_abs);
  profile.extremes.resize(profile.deltas.size());
  out.most_large.resize(profile.deltas.size());
  b([&](const DenseView<const double>& rows) {
    const mgemm::FactorProfile found = mgemm::profile_on_host(rows, profile.max_abs, profile.deltas, 1);
    profile.small_squares.insert(profile.small_squares.end(), found.small_squares.begin(), found.small_squares.end());
    for (std::size_t k = 0; k < found.extremes.size(); ++k) {
      add_extremes(found.extremes[k], profile.extremes[k]);
      out.most_large[k] = std::max(out.most_large[k], found.extremes[k].large);
    }
  });
  if (profile.extremes[0].large > mgemm::listed_of(numbers)) keep_first_cutoff(profile, system.auxiliary);
  return out;
}

std::vector<double> squares_of_orbitals(const EachOrbital& b) {
  std::vector<double> squares;
  b([&](const DenseView<const double>& rows) {
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      double sum = 0;
      for (const double* x = rows.line(row); x != rows.line(row) + rows.cols; ++x) sum += *x * *x;
      squares.push_back(sum);
    }
  });
  return squares;
}

}  // namespace quadrille::ri_mp2
