#include "input/statistics/cosh_fit.h"

#include "core/error.h"

#include <Eigen/Dense>
#include <unsupported/Eigen/NonLinearOptimization>
#include <unsupported/Eigen/NumericalDiff>

#include <cmath>

namespace quadrille {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

/// Of a state of amplitude 1.
double state_at(int t, double mass, int extent) { return std::exp(-mass * t) + std::exp(-mass * (extent - t)); }

/// What Levenberg and Marquardt vary: log m_1, and log(m_2 - m_1).
VectorXd unknowns_of(const std::vector<double>& masses) {
  VectorXd out(masses.size());
  for (std::size_t n = 0; n < masses.size(); ++n) {
    out[Eigen::Index(n)] = std::log(n == 0 ? masses[0] : masses[n] - masses[n - 1]);
  }
  return out;
}

std::vector<double> masses_of(const VectorXd& unknowns) {
  std::vector<double> out;
  for (const double one : unknowns) out.push_back((out.empty() ? 0 : out.back()) + std::exp(one));
  return out;
}

/// The residual, weighted so that its square is chi^2, as a function of the masses alone.
struct Residual {
  using Scalar = double;
  using InputType = VectorXd;
  using ValueType = VectorXd;
  using JacobianType = MatrixXd;
  enum { InputsAtCompileTime = Eigen::Dynamic, ValuesAtCompileTime = Eigen::Dynamic };

  const CoshModel& model;
  const MatrixXd& weight;
  VectorXd weighted;  ///< the correlator

  int inputs() const { return model.states; }
  int values() const { return model.points(); }

  MatrixXd weighted_states(const VectorXd& unknowns) const {
    const std::vector<double> masses = masses_of(unknowns);
    MatrixXd states(model.points(), model.states);
    for (int k = 0; k < model.points(); ++k) {
      for (int n = 0; n < model.states; ++n) {
        states(k, n) = state_at(model.first + k, masses[std::size_t(n)], model.extent);
      }
    }
    return weight * states;
  }
  VectorXd amplitudes(const VectorXd& unknowns) const {
    return weighted_states(unknowns).colPivHouseholderQr().solve(weighted);
  }
  int operator()(const VectorXd& unknowns, VectorXd& out) const {
    out = weighted - weighted_states(unknowns) * amplitudes(unknowns);
    return 0;
  }
};

/// From one first guess; nothing where it leads nowhere.
std::optional<CoshFit> minimum(const Residual& residual, const std::vector<double>& guess) {
  Eigen::NumericalDiff<Residual, Eigen::Central> differences(residual);
  Eigen::LevenbergMarquardt<Eigen::NumericalDiff<Residual, Eigen::Central>> method(differences);
  method.parameters.ftol = method.parameters.xtol = 1e-12;
  method.parameters.maxfev = 2000;
  VectorXd unknowns = unknowns_of(guess);
  const auto status = method.minimize(unknowns);
  VectorXd left(residual.values());
  residual(unknowns, left);
  if (status <= 0 || status == Eigen::LevenbergMarquardtSpace::TooManyFunctionEvaluation) return {};
  CoshFit fit{masses_of(unknowns), {}, left.squaredNorm()};
  const VectorXd amplitudes = residual.amplitudes(unknowns);
  fit.amplitudes.assign(amplitudes.begin(), amplitudes.end());
  const bool finite = std::isfinite(fit.chi2) && unknowns.allFinite() && amplitudes.allFinite();
  return finite ? std::optional(fit) : std::nullopt;
}

/// A mass of about the decay of the correlator over the window.
double mass_guess(const std::vector<double>& correlator) {
  const double ratio = correlator.front() / correlator.back();
  const double steps = double(correlator.size()) - 1;
  return ratio > 1.01 && std::isfinite(ratio) ? std::log(ratio) / steps : 0.01 / steps;
}

std::vector<std::vector<double>> guesses(const std::vector<double>& correlator, int states) {
  const double mass = mass_guess(correlator);
  std::vector<std::vector<double>> out;
  for (const double light : {0.5 * mass, mass, 2 * mass}) {
    if (states == 1) out.push_back({light});
    for (const double gap : {0.5 * light, 2 * light, 1.0}) {
      if (states == 2) out.push_back({light, light + gap});
    }
  }
  return out;
}

}  // namespace

std::vector<double> CoshModel::correlator(const std::vector<double>& masses,
                                          const std::vector<double>& amplitudes) const {
  std::vector<double> out(std::size_t(points()), 0.0);
  for (std::size_t n = 0; n < masses.size(); ++n) {
    for (int k = 0; k < points(); ++k) out[std::size_t(k)] += amplitudes[n] * state_at(first + k, masses[n], extent);
  }
  return out;
}

std::vector<double> folded(const std::vector<double>& correlator, const CoshModel& model) {
  std::vector<double> out;
  for (int t = model.first; t <= model.last; ++t) {
    out.push_back(0.5 * (correlator[std::size_t(t)] + correlator[std::size_t((model.extent - t) % model.extent)]));
  }
  return out;
}

CoshFitter::CoshFitter(const CoshModel& model, const std::vector<std::vector<double>>& covariance, bool correlated)
    : model_(model) {
  const Eigen::Index n = model.points();
  MatrixXd correlation = MatrixXd::Identity(n, n);
  VectorXd errors(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    errors[i] = std::sqrt(covariance[std::size_t(i)][std::size_t(i)]);
    for (Eigen::Index j = 0; correlated && j <= i; ++j) {
      const double both = covariance[std::size_t(i)][std::size_t(j)];
      correlation(i, j) = correlation(j, i) = i == j ? 1 : both / errors[i] / errors[j];
    }
  }
  // Scaled to a correlation matrix first: a correlator falls by orders of magnitude.
  const Eigen::LLT<MatrixXd> root(correlation);
  const bool good = errors.allFinite() && (errors.array() > 0).all() && root.info() == Eigen::Success &&
                    root.matrixLLT().diagonal().minCoeff() > 1e-7;
  if (!good) throw Error(ErrorCode::numerical, "the covariance of the correlator is not positive definite");
  MatrixXd inverse = root.matrixL().solve(MatrixXd::Identity(n, n));
  inverse *= errors.cwiseInverse().asDiagonal();
  inverse_root_.assign(std::size_t(n), std::vector<double>(std::size_t(n)));
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) inverse_root_[std::size_t(i)][std::size_t(j)] = inverse(i, j);
  }
}

std::optional<CoshFit> CoshFitter::fit(const std::vector<double>& correlator, const CoshFit* similar) const {
  const Eigen::Index n = model_.points();
  MatrixXd weight(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = 0; j < n; ++j) weight(i, j) = inverse_root_[std::size_t(i)][std::size_t(j)];
  }
  const VectorXd points = Eigen::Map<const VectorXd>(correlator.data(), n);
  if (!points.allFinite()) return {};
  const Residual residual{model_, weight, weight * points};
  if (similar != nullptr) return minimum(residual, similar->masses);
  std::optional<CoshFit> best;
  for (const std::vector<double>& guess : guesses(correlator, model_.states)) {
    const std::optional<CoshFit> found = minimum(residual, guess);
    if (found && (!best || found->chi2 < best->chi2)) best = found;
  }
  return best;
}

}  // namespace quadrille
