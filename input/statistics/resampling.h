// Errors of means, and of what is computed from means, by resampling: jackknife and bootstrap over bins. B. Efron, The
// Jackknife, the Bootstrap and Other Resampling Plans, SIAM (1982).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace quadrille {

/// What was measured: a row for each configuration, in the order of the chain; all rows have the same length.
using Measurements = std::vector<std::vector<double>>;

/// The rows in bins of neighbours: as many bins as have at least `size` rows each, and one if there are fewer rows. The
/// bins differ by one row at most, and every row is in one.
class Bins {
 public:
  /// Errors (ErrorCode::internal): no rows, rows of different lengths, a size of 0.
  Bins(const Measurements& rows, std::size_t size);

  std::size_t count() const { return sums_.size(); }
  std::size_t rows() const { return rows_; }
  /// Of all rows.
  std::vector<double> mean() const;
  /// Of all rows but those of a bin; there must be two bins.
  std::vector<double> mean_without(std::size_t bin) const;
  /// Of a sample in which each bin is as many times as `times` says.
  std::vector<double> mean_of(const std::vector<std::size_t>& times) const;

 private:
  std::vector<std::vector<double>> sums_;  ///< [bin][number]
  std::vector<double> total_;              ///< the sum of all bins
  std::vector<std::size_t> sizes_;
  std::size_t rows_ = 0;
};

/// Something that is computed from means; it may give NaN where it has no value.
using OfMeans = std::function<std::vector<double>(const std::vector<double>& means)>;
/// The means themselves.
std::vector<double> themselves(const std::vector<double>& means);

struct Estimates {
  std::vector<double> value;  ///< of the means of all rows
  std::vector<double> error;  ///< NaN where there is one bin only, or a sample has no value
  std::vector<double> bias;   ///< that `value` is expected to have; 0 for means, of order 1 / bins for other functions
};

/// By the jackknife over N bins: with f_k of the means without bin k and their average f,
/// error^2 = (N - 1) / N sum_k (f_k - f)^2, bias = (N - 1) (f - value).
Estimates jackknife(const Bins& bins, const OfMeans& function = themselves);

/// Covariance of the means by the jackknife, [i][j]; NaN where there is one bin only.
std::vector<std::vector<double>> jackknife_covariance(const Bins& bins);

/// Standard deviation of the function over `samples` bootstrap samples, each of as many bins as there are, drawn with
/// repetition; times sqrt(N / (N - 1)), so that the square of that of a mean has no bias. The same seed gives the same
/// samples. NaN as for the jackknife.
std::vector<double> bootstrap_errors(const Bins& bins, int samples, std::uint64_t seed,
                                     const OfMeans& function = themselves);

}  // namespace quadrille
