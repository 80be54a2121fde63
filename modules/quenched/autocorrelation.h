// The mean of a Markov chain's measurements and its error: the Gamma method of Wolff, Comput. Phys. Commun. 156 (2004)
// 143, hep-lat/0306017 (one replica, a primary observable).
#pragma once

#include <cstdint>
#include <vector>

namespace quadrille::quenched {

struct ChainMean {
  double mean = 0;
  double error = 0;      ///< of the mean, autocorrelation included
  double tau_int = 0.5;  ///< integrated autocorrelation time in steps of the chain; 1/2 means none
  double tau_int_error = 0;
  std::int64_t window = 0;  ///< lags summed up
  std::int64_t count = 0;
  /// False when nothing can be said of errors: fewer than 10 numbers, or no window within half the chain.
  bool reliable = false;
};

/// The automatic window, with S = 1.5: the assumed ratio of the decay time of the autocorrelation to tau_int.
/// Of constant measurements the error is 0 and tau_int 1/2.
ChainMean chain_mean(const std::vector<double>& measurements, double s = 1.5);

}  // namespace quadrille::quenched
