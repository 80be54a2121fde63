// Fits of one or two states to a correlator that is symmetric about T/2.
#pragma once

#include <optional>
#include <vector>

namespace quadrille {

/// C(t) = sum_n A_n (exp(-m_n t) + exp(-m_n (T - t))), m_1 < m_2, for t = first ... last after the source.
struct CoshModel {
  int extent = 0;  ///< T
  int first = 0, last = 0;
  int states = 1;  ///< 1 or 2

  int points() const { return last - first + 1; }
  int degrees_of_freedom() const { return points() - 2 * states; }
  /// C(t) at the points.
  std::vector<double> correlator(const std::vector<double>& masses, const std::vector<double>& amplitudes) const;
};

struct CoshFit {
  std::vector<double> masses, amplitudes;  ///< of the states, the lighter one first
  double chi2 = 0;
};

/// (C(t) + C(T - t)) / 2 at the points of the model, of a correlator from its source on.
std::vector<double> folded(const std::vector<double>& correlator, const CoshModel& model);

/// Minimises chi^2 = r^T W r, r = C - model, with W the inverse of a covariance matrix. The amplitudes are linear and
/// eliminated (G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413); the masses are found by the
/// Levenberg-Marquardt method of MINPACK, as Eigen has it.
class CoshFitter {
 public:
  /// `covariance` is that of the points, [i][j]; with `correlated` false its diagonal alone counts. Errors
  /// (ErrorCode::numerical): a covariance that is not positive definite.
  CoshFitter(const CoshModel& model, const std::vector<std::vector<double>>& covariance, bool correlated);

  /// Of a correlator at the points, from several first guesses or, where a fit of a similar correlator is known, from
  /// its masses. Nothing where no minimum with finite masses is found.
  std::optional<CoshFit> fit(const std::vector<double>& correlator, const CoshFit* similar = nullptr) const;

 private:
  CoshModel model_;
  std::vector<std::vector<double>> inverse_root_;  ///< L^-1 with covariance = L L^T; lower triangle
};

}  // namespace quadrille
