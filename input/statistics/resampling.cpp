#include "input/statistics/resampling.h"

#include "core/error.h"
#include "core/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Rows that a Measurements has, all as long as the first.
void require_rows(const Measurements& rows, std::size_t size) {
  const auto as_long = [&](const std::vector<double>& row) { return row.size() == rows.front().size(); };
  if (!rows.empty() && size > 0 && std::all_of(rows.begin(), rows.end(), as_long)) return;
  throw Error(ErrorCode::internal, "bins need rows of one length");
}

/// The mean of each column, and the sum of the squares of its deviations.
struct Columns {
  std::vector<double> mean, squares;

  explicit Columns(const Measurements& rows) : mean(rows.front().size()), squares(mean) {
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row[i] / double(rows.size());
    }
    for (const auto& row : rows) {
      for (std::size_t i = 0; i < mean.size(); ++i) squares[i] += (row[i] - mean[i]) * (row[i] - mean[i]);
    }
  }
};

Measurements jackknife_samples(const Bins& bins, const OfMeans& function) {
  Measurements samples;
  for (std::size_t bin = 0; bin < bins.count(); ++bin) samples.push_back(function(bins.mean_without(bin)));
  return samples;
}

}  // namespace

std::vector<double> themselves(const std::vector<double>& means) { return means; }

Bins::Bins(const Measurements& rows, std::size_t size) : rows_(rows.size()) {
  require_rows(rows, size);
  total_.assign(rows.front().size(), 0.0);
  const std::size_t bins = std::max<std::size_t>(rows.size() / size, 1);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = bin * rows.size() / bins, end = (bin + 1) * rows.size() / bins;
    std::vector<double>& sum = sums_.emplace_back(rows.front().size(), 0.0);
    sizes_.push_back(end - first);
    for (std::size_t row = first; row < end; ++row) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += rows[row][i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i) total_[i] += sum[i];
  }
}

std::vector<double> Bins::mean_of(const std::vector<std::size_t>& times) const {
  std::vector<double> mean(sums_.front().size(), 0.0);
  double count = 0;
  for (std::size_t bin = 0; bin < sums_.size(); ++bin) {
    count += double(times[bin] * sizes_[bin]);
    if (times[bin] == 0) continue;
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += double(times[bin]) * sums_[bin][i];
  }
  for (double& value : mean) value /= count;
  return mean;
}

std::vector<double> Bins::mean() const { return mean_of(std::vector<std::size_t>(count(), 1)); }

std::vector<double> Bins::mean_without(std::size_t bin) const {
  std::vector<double> mean = total_;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean[i] = (mean[i] - sums_[bin][i]) / double(rows_ - sizes_[bin]);
  }
  return mean;
}

Estimates jackknife(const Bins& bins, const OfMeans& function) {
  Estimates out;
  out.value = function(bins.mean());
  out.error.assign(out.value.size(), unknown);
  out.bias = out.error;
  if (bins.count() < 2) return out;
  const Columns samples(jackknife_samples(bins, function));
  const double n = double(bins.count());
  for (std::size_t i = 0; i < out.value.size(); ++i) {
    out.error[i] = std::sqrt((n - 1) / n * samples.squares[i]);
    out.bias[i] = (n - 1) * (samples.mean[i] - out.value[i]);
  }
  return out;
}

std::vector<std::vector<double>> jackknife_covariance(const Bins& bins) {
  const std::vector<double> mean = bins.mean();
  std::vector<std::vector<double>> out(mean.size(), std::vector<double>(mean.size(), unknown));
  if (bins.count() < 2) return out;
  const Measurements samples = jackknife_samples(bins, themselves);
  const Columns columns(samples);
  const double n = double(bins.count());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (const auto& sample : samples) sum += (sample[i] - columns.mean[i]) * (sample[j] - columns.mean[j]);
      out[i][j] = out[j][i] = (n - 1) / n * sum;
    }
  }
  return out;
}

std::vector<double> bootstrap_errors(const Bins& bins, int samples, std::uint64_t seed, const OfMeans& function) {
  constexpr std::uint32_t stream = 1;  // of RandomPurpose::Sample; 0 is that of other samples
  const std::size_t n = bins.count();
  if (n < 2 || samples < 2) return std::vector<double>(function(bins.mean()).size(), unknown);
  Measurements found;
  for (int sample = 0; sample < samples; ++sample) {
    SiteRandom random(seed, RandomPurpose::Sample, sample, stream);
    std::vector<std::size_t> times(n, 0);
    for (std::size_t draw = 0; draw < n; ++draw) ++times[std::size_t(random.uniform() * double(n))];
    found.push_back(function(bins.mean_of(times)));
  }
  std::vector<double> errors = Columns(found).squares;
  const double few = double(n) / double(n - 1);  // the spread of n values about their own mean is smaller
  for (double& error : errors) error = std::sqrt(error / double(samples - 1) * few);
  return errors;
}

}  // namespace quadrille
