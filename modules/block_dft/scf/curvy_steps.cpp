#include "modules/block_dft/scf/curvy_steps.h"

#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_algebra.h"

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

/// sum of c_k x^k.
double polynomial(const std::vector<double>& c, double x) {
  double sum = 0;
  for (std::size_t k = c.size(); k-- > 0;) sum = sum * x + c[k];
  return sum;
}

/// The first zero in (0, 1] of a polynomial that is negative at 0; 1 where there is none.
double first_zero(const std::vector<double>& c) {
  constexpr int parts = 64, halvings = 50;
  for (int part = 1; part <= parts; ++part) {
    double high = double(part) / parts, low = high - 1.0 / parts;
    if (polynomial(c, high) < 0) continue;
    for (int step = 0; step < halvings; ++step) {
      const double middle = (low + high) / 2;
      (polynomial(c, middle) < 0 ? low : high) = middle;
    }
    return high;
  }
  return 1;
}

double product(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace

/// Terms T_k = C_k / k! with what they have of the energy.
template <class M>
struct CurvySteps<M>::Series {
  const SccModel<M>& model;
  std::vector<M> terms{};
  std::vector<double> norms{};  ///< Frobenius
  std::vector<double> band{};   ///< tr(T_k H0)
  std::vector<std::vector<double>> charges{},
      potentials{};  ///< dq_k and gamma dq_k, [atom]; dq_0 from the neutral ones

  void push(M term) {
    std::vector<double> q = mulliken_charges(term, model.s), from_neutral(q.size());
    const std::vector<double>& origin = model.neutral;
    for (std::size_t a = 0; a < origin.size(); ++a) {
      if (terms.empty()) q[a] -= origin[a];
      from_neutral[a] = q[a] + origin[a];  // what charge_potential() takes
    }
    potentials.push_back(charge_potential(model, from_neutral));
    charges.push_back(std::move(q));
    band.push_back(dot(term, model.h0));
    norms.push_back(frobenius_norm(term));
    terms.push_back(std::move(term));
  }

  /// t becomes t times `factor`.
  void rescale(double factor) {
    double power = 1;
    for (std::size_t k = 0; k < terms.size(); ++k, power *= factor) {
      scale(terms[k], power);
      band[k] *= power;
      norms[k] *= power;
      for (double& q : charges[k]) q *= power;
      for (double& v : potentials[k]) v *= power;
    }
  }

  /// Coefficients of dE/dt.
  std::vector<double> slope() const {
    std::vector<double> energy(2 * terms.size() - 1);
    for (std::size_t k = 0; k < terms.size(); ++k) {
      energy[k] += band[k];
      for (std::size_t l = 0; l < terms.size(); ++l) energy[k + l] += product(charges[k], potentials[l]) / 2;
    }
    for (std::size_t k = 0; k + 1 < energy.size(); ++k) energy[k] = double(k + 1) * energy[k + 1];
    energy.pop_back();
    return energy;
  }
};

template <class M>
CurvySteps<M>::CurvySteps(const SccModel<M>& model, M p, const M& inverse_root, CurvyDirection direction,
                          FunctionOptions options)
    : model_(model), p_(std::move(p)), direction_(direction), options_(std::move(options)) {
  FunctionReport report;
  inverse_ = symmetric_product(inverse_root, transposed(inverse_root), options_, report);
  charges_ = mulliken_charges(p_, model_.s);
}

template <class M>
double CurvySteps<M>::energy() const {
  return dot(p_, model_.h0) + charge_energy(model_, charges_);
}

/// H P S - S P H.
template <class M>
M CurvySteps<M>::gradient(FunctionReport& report) const {
  const M hp = filtered_product(scc_hamiltonian(model_, charges_), p_, Symmetry::none, options_, report);
  M out = with_symmetry(filtered_product(hp, model_.s, Symmetry::none, options_, report), Symmetry::antisymmetric);
  scale(out, 2.0);
  return out;
}

/// Options of a product that is about as large as `size`, Frobenius: what is left out is as small beside it as eps
/// beside P. Of a small step first and second terms count alike for the energy, and eps alone would leave out the
/// latter.
template <class M>
FunctionOptions CurvySteps<M>::relative_to(double size) const {
  FunctionOptions out = options_;
  out.eps *= std::min(1.0, size / frobenius_norm(p_));
  return out;
}

/// The next term of the series; `sd` is S D.
template <class M>
void CurvySteps<M>::extend(Series& series, const M& sd, FunctionReport& report) const {
  const std::size_t k = series.terms.size();
  const double size = k == 1 ? frobenius_norm(sd) : series.norms[k - 1] * series.norms[k - 1] / series.norms[k - 2];
  if (!(size > 0)) return series.push(M(p_.rows(), p_.columns(), Symmetry::symmetric));
  M term = with_symmetry(filtered_product(series.terms.back(), sd, Symmetry::none, relative_to(size), report),
                         Symmetry::symmetric);
  scale(term, 2.0 / double(k));
  series.push(std::move(term));
}

template <class M>
CurvyStep CurvySteps<M>::step() {
  constexpr std::size_t most_terms = 40;
  constexpr double largest_angle = 2;  // of t |C_2| / |C_1|: terms fall faster than 2^k / k!
  CurvyStep out;
  FunctionReport& report = out.report;
  M g = gradient(report);
  const FunctionOptions like_g = relative_to(frobenius_norm(g));
  const M raised = filtered_product(filtered_product(inverse_, g, Symmetry::none, like_g, report), inverse_,
                                    Symmetry::antisymmetric, like_g, report);
  const double square = dot(g, raised);
  out.gradient = std::sqrt(std::max(0.0, square));
  if (!(square > 0)) return out;
  M direction = copied(raised);
  if (direction_ == CurvyDirection::conjugate_gradient && last_square_ > 0) {
    const double beta = std::max(0.0, (square - dot(last_gradient_, raised)) / last_square_);
    add(1.0, direction, beta, last_direction_);
    if (!(dot(g, direction) > 0)) direction = copied(raised);
  }
  out.slope = -dot(g, direction);

  M sd = filtered_product(model_.s, direction, Symmetry::none, relative_to(frobenius_norm(direction)), report);
  Series series{model_};
  series.push(copied(p_));
  extend(series, sd, report);
  extend(series, sd, report);
  const double curvature = series.slope()[1];
  const double growth = series.norms[1] > 0 ? 2 * series.norms[2] / series.norms[1] : 0;
  double range = growth > 0 ? largest_angle / growth : 1;
  if (curvature > 0) range = std::min(range, -2 * out.slope / curvature);
  series.rescale(range);
  scale(sd, range);
  while (series.norms.back() > options_.eps * series.norms[1] && series.terms.size() < most_terms) {
    extend(series, sd, report);
  }
  const double t = first_zero(series.slope());
  double power = 1;
  for (std::size_t k = 1; k < series.terms.size(); ++k) add(1.0, p_, power *= t, series.terms[k]);
  filter(p_, options_.eps);
  mcweeny(p_, model_.s, options_, report);
  charges_ = mulliken_charges(p_, model_.s);
  out.t = t * range;
  out.terms = int(series.terms.size());
  last_gradient_ = std::move(g);
  last_direction_ = std::move(direction);
  last_square_ = square;
  return out;
}

#define QUADRILLE_CURVY_STEPS(M) template class CurvySteps<M>;
QUADRILLE_FOR_MATRICES(QUADRILLE_CURVY_STEPS)
#undef QUADRILLE_CURVY_STEPS

}  // namespace quadrille::block_dft
