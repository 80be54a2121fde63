#include "modules/quenched/autocorrelation.h"

#include <cmath>
#include <limits>

namespace quadrille::quenched {

namespace {

/// Gamma(t): the average product of deviations t steps apart.
double autocovariance(const std::vector<double>& deviations, std::size_t t) {
  double sum = 0;
  for (std::size_t i = 0; i + t < deviations.size(); ++i) sum += deviations[i] * deviations[i + t];
  return sum / double(deviations.size() - t);
}

}  // namespace

ChainMean chain_mean(const std::vector<double>& measurements, double s) {
  ChainMean out;
  const std::size_t count = measurements.size();
  const double n = double(count);
  out.count = std::int64_t(count);
  out.error = out.tau_int = out.tau_int_error = std::numeric_limits<double>::quiet_NaN();
  for (double x : measurements) out.mean += x / n;
  if (count < 10) return out;
  std::vector<double> deviations(measurements);
  for (double& x : deviations) x -= out.mean;
  const double variance = autocovariance(deviations, 0);
  if (std::isnan(variance)) return out;
  if (variance <= 1e-28 * out.mean * out.mean) {  // the rounding of the mean
    out.error = out.tau_int_error = 0;
    out.tau_int = 0.5;
    out.reliable = true;
    return out;
  }
  double tau = 0.5;
  for (std::size_t w = 1; w <= count / 2; ++w) {
    tau += autocovariance(deviations, w) / variance;
    // tau of a single exponential would be s / log(...); where the sum is below 1/2 there is no correlation to speak
    // of.
    const double decay = tau > 0.5 ? s / std::log((2 * tau + 1) / (2 * tau - 1)) : std::numeric_limits<double>::min();
    const double window = double(w);
    if (std::exp(-window / decay) - decay / std::sqrt(window * n) >= 0) continue;
    // The mean is that of the same chain: each Gamma(t) is too small by about the variance of the mean.
    const double biased = 2 * tau * variance, c = biased * (1 + (2 * window + 1) / n);
    if (!(c > 0)) break;
    out.tau_int = c / (2 * (variance + biased / n));
    out.error = std::sqrt(c / n);
    out.tau_int_error = out.tau_int * std::sqrt(4 / n * std::fmax(0, window + 0.5 - out.tau_int));
    out.window = std::int64_t(w);
    out.reliable = true;
    break;
  }
  return out;
}

}  // namespace quadrille::quenched
