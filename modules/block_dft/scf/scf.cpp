#include "modules/block_dft/scf/scf.h"

#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille::block_dft {
namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

void check_options(const ScfOptions& options) {
  const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_input, message); };
  if (!options.density.electrons) refuse("the self-consistent loop needs a number of electrons");
  if (!(options.mixing > 0 && options.mixing <= 1)) {
    refuse(fmt::format("mixing = {}: it must be above 0 and at most 1", options.mixing));
  }
  if (!(options.eps_scf > 0) || std::isinf(options.eps_scf)) {
    refuse(fmt::format("eps_scf = {}: it must be above 0, and finite", options.eps_scf));
  }
  if (options.method == ScfMethod::curvy && options.density.method == DensityMethod::dense) {
    refuse("curvy steps begin with a density matrix by trs4 or sign, not dense");
  }
}

double inner(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

/// Charges that move to and fro by as much again and again: with r_n = q(P) - q of one mode, r_n+1 = (1 - mixing
/// lambda) r_n, and lambda, the same for any mixing, is above 2 / mixing.
class OscillationWatch {
 public:
  explicit OscillationWatch(double mixing) : mixing_(mixing) {}

  void check(const std::vector<double>& residual) {
    constexpr int patience = 5;
    if (!last_.empty()) {
      const double before = inner(last_, last_), now = inner(residual, residual), both = inner(residual, last_);
      const bool back = both < -0.9 * std::sqrt(before * now) && now > 0.98 * before;
      times_ = back ? times_ + 1 : 0;
      if (times_ == patience) fail(1 - both / before, std::sqrt(now));
    }
    last_ = residual;
  }

 private:
  [[noreturn]] void fail(double lambda_times_mixing, double size) const {
    throw Error(ErrorCode::numerical,
                fmt::format("the self-consistent loop oscillates: charges move back and forth by {:.3g} with mixing "
                            "{:g}; mixing {:.2g} should converge, and curvy steps need no mixing",
                            size, mixing_, mixing_ / lambda_times_mixing));
  }

  double mixing_;
  std::vector<double> last_;
  int times_ = 0;
};

template <class M>
class Loop {
 public:
  Loop(const SccModel<M>& model, const ScfOptions& options)
      : model_(model), options_(options), limit_(options.eps_scf * *options.density.electrons) {}

  Scf<M> run() {
    DensitySolver<M> solver(copied(model_.s), options_.density);
    if (options_.method == ScfMethod::curvy) {
      minimize(solver);
    } else {
      mix(solver);
    }
    finish();
    return std::move(out_);
  }

 private:
  Density<M> density_at(DensitySolver<M>& solver, const std::vector<double>& charges) {
    Density<M> density = solver.density(scc_hamiltonian(model_, charges));
    if (!density.converged) {
      out_.density_failure = fmt::format(
          "a density matrix of the self-consistent loop has {}; a larger max_iterations may help, unless there is no "
          "gap",
          not_converged_text(density));
    }
    return density;
  }

  bool goes_on() const {
    return !out_.converged && out_.density_failure.empty() && int(out_.iterations.size()) < options_.max_iterations;
  }

  /// Whether the energy has come to rest.
  bool push(ScfIteration iteration) {
    iteration.change = out_.iterations.empty() ? none : iteration.energy - out_.iterations.back().energy;
    out_.iterations.push_back(iteration);
    if (options_.progress) options_.progress(int(out_.iterations.size()), iteration.energy, iteration.change);
    return std::abs(iteration.change) < limit_;
  }

  static ScfIteration summary(const Density<M>& density, double began) {
    ScfIteration out;
    out.mu = density.mu.value_or(none);
    out.seconds = now() - began;
    for (const DensityStep& step : density.steps) {
      if (step.what == "roots") out.seconds += step.seconds;  // made before
      out.report += step.report;
    }
    out.occupation = density.p.occupation();
    return out;
  }

  void mix(DensitySolver<M>& solver) {
    OscillationWatch watch(options_.mixing);
    std::vector<double> charges = model_.neutral, residual(charges.size());
    while (goes_on()) {
      const double began = now();
      Density<M> density = density_at(solver, charges);
      out_.charges = mulliken_charges(density.p, model_.s);
      ScfIteration iteration = summary(density, began);
      iteration.energy = dot(density.p, model_.h0) + charge_energy(model_, out_.charges);
      for (std::size_t a = 0; a < residual.size(); ++a) {
        residual[a] = out_.charges[a] - charges[a];
        iteration.charge_change = std::max(iteration.charge_change, std::abs(residual[a]));
      }
      out_.p = std::move(density.p);
      out_.degenerate_level = density.degenerate_level;
      // A loop that goes to and fro may have the same energy on both sides.
      out_.converged = push(iteration) && interaction_energy(residual) < limit_ && out_.density_failure.empty();
      if (!goes_on()) continue;
      watch.check(residual);
      for (std::size_t a = 0; a < residual.size(); ++a) charges[a] += options_.mixing * residual[a];
    }
  }

  double interaction_energy(std::vector<double> residual) const {
    for (std::size_t a = 0; a < residual.size(); ++a) residual[a] += model_.neutral[a];
    return std::abs(charge_energy(model_, residual));
  }

  void minimize(DensitySolver<M>& solver) {
    double began = now();
    Density<M> start = density_at(solver, model_.neutral);
    ScfIteration iteration = summary(start, began);
    CurvySteps<M> steps(model_, std::move(start.p), solver.inverse_root(), options_.direction,
                        options_.density.function);
    iteration.energy = steps.energy();
    push(iteration);
    while (goes_on()) {
      began = now();
      const std::vector<double> before = steps.charges();
      const CurvyStep step = steps.step();
      iteration = {.energy = steps.energy(), .gradient = step.gradient, .mu = none, .report = step.report};
      iteration.occupation = steps.p().occupation();
      iteration.seconds = now() - began;
      for (std::size_t a = 0; a < before.size(); ++a) {
        iteration.charge_change = std::max(iteration.charge_change, std::abs(steps.charges()[a] - before[a]));
      }
      out_.converged = push(iteration);
    }
    out_.p = copied(steps.p());
    out_.charges = steps.charges();
  }

  void finish() {
    out_.h = scc_hamiltonian(model_, out_.charges);
    out_.band_energy = dot(out_.p, model_.h0);
    out_.charge_energy = charge_energy(model_, out_.charges);
    out_.energy = out_.band_energy + out_.charge_energy;
    out_.electrons = dot(out_.p, model_.s);
  }

  const SccModel<M>& model_;
  const ScfOptions& options_;
  double limit_;
  Scf<M> out_;
};

}  // namespace

template <class M>
Scf<M> self_consistent(const SccModel<M>& model, const ScfOptions& options) {
  check_options(options);
  require_model(model);
  return Loop<M>(model, options).run();
}

#define QUADRILLE_SCF(M) template Scf<M> self_consistent(const SccModel<M>&, const ScfOptions&);
QUADRILLE_FOR_MATRICES(QUADRILLE_SCF)
#undef QUADRILLE_SCF

}  // namespace quadrille::block_dft
