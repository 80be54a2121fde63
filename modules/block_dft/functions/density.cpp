#include "modules/block_dft/functions/density.h"

#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

void check_options(const DensityOptions& options, std::int64_t orbitals) {
  if (options.mu.has_value() == options.electrons.has_value()) refuse("give either mu or a number of electrons");
  const bool trs4 = options.method == DensityMethod::trs4, canonical = options.method == DensityMethod::canonical;
  if ((trs4 || canonical) && options.mu) {
    refuse(fmt::format("{} needs a number of electrons instead of mu", trs4 ? "TRS4" : "canonical purification"));
  }
  if (options.mu && !std::isfinite(*options.mu)) refuse(fmt::format("mu = {}: it must be finite", *options.mu));
  if (!options.electrons) return;
  require_whole_electrons(*options.electrons);
  if (!(*options.electrons > 0 && *options.electrons < double(orbitals))) {
    refuse(fmt::format("{} electrons: must be > 0 and < {}, the number of orbitals", *options.electrons, orbitals));
  }
}

[[noreturn]] void refuse_mu(double mu, bool all, std::int64_t orbitals) {
  refuse(fmt::format("mu = {} is outside the spectrum: {} of the {} orbitals {} below it", mu, all ? "all" : "none",
                     orbitals, all ? "are" : "is"));
}

FunctionOptions function_options(const DensityOptions& options, const std::string& what) {
  FunctionOptions function = options.function;
  if (options.progress) {
    function.progress = [&options, what](int iteration, double residual) {
      options.progress(what, iteration, residual);
    };
  }
  return function;
}

/// |A - B|, Frobenius.
template <class M>
double norm_of_difference(M a, const M& b) {
  add(1.0, a, -1.0, b);
  return frobenius_norm(a);
}

/// The calculation in the basis that S^-1/2 makes orthogonal.
template <class M>
class Orthogonal {
 public:
  Orthogonal(const M& h, const M& inverse_root, const DensityOptions& options, Density<M>& out)
      : z_(inverse_root), options_(options), out_(out), orbitals_(double(h.rows().total())) {
    // What is left out is multiplied by Z.
    to_basis_.eps /= std::max(1.0, frobenius_norm(z_) / std::sqrt(orbitals_));
    const M left = filtered_product(z_, h, Symmetry::none, to_basis_, transform_, Transpose::yes);
    h_ = symmetric_product(left, z_, to_basis_, transform_);
    // What filters left out may have moved a level.
    spectrum_ = gershgorin(h_);
  }

  void at(double mu) {
    M x = occupied_at(mu);
    const double electrons = out_.steps.back().electrons;
    if (electrons < 0.5 || electrons > orbitals_ - 0.5) refuse_mu(mu, electrons > 0.5, std::int64_t(orbitals_));
    finish(std::move(x), mu);
  }

  /// Looks at `guess` first.
  void bisect(double electrons, std::optional<double> guess) {
    Interval range = spectrum_;
    double below = 0, above = orbitals_;
    for (int step = 0; step < options_.max_bisections; ++step) {
      const double mu = step == 0 && guess ? *guess : (range.low + range.high) / 2;
      if (mu <= range.low || mu >= range.high) break;
      M x = occupied_at(mu);
      const double found = out_.steps.back().electrons;
      if (std::abs(found - electrons) < 0.5) return finish(std::move(x), mu);
      (found < electrons ? range.low : range.high) = mu;
      (found < electrons ? below : above) = found;
    }
    throw Error(ErrorCode::numerical,
                fmt::format("no mu has {} electrons below it: at {:.17g} their number jumps from {:.3f} to {:.3f}",
                            electrons, range.low, below, above));
  }

  /// By TRS4 or canonical purification.
  void purify(double electrons) {
    const double began = now();
    const bool trs4 = options_.method == DensityMethod::trs4;
    const FunctionOptions function = function_options(options_, trs4 ? "TRS4" : "canonical purification");
    FunctionReport report;
    if (!(spectrum_.low < spectrum_.high)) {
      throw Error(
          ErrorCode::numerical,
          fmt::format("all levels are at {}: purification needs some below and some above a gap", spectrum_.low));
    }
    const double mean = trace(h_) / orbitals_;
    M x = std::move(h_);  // large matrices are not kept longer than they are needed
    if (trs4) {
      scale(x, -1 / (spectrum_.high - spectrum_.low));
      add_identity(x, spectrum_.high / (spectrum_.high - spectrum_.low));
    } else {
      const double slope =
          std::min(electrons / (spectrum_.high - mean), (orbitals_ - electrons) / (mean - spectrum_.low)) / orbitals_;
      scale(x, -slope);
      add_identity(x, slope * mean + electrons / orbitals_);
    }
    while (report.iterations < function.max_iterations && !report.converged) {
      trs4 ? purify_once(x, electrons, function, report) : purify_canonically_once(x, function, report);
    }
    out_.steps.push_back({trs4 ? "trs4" : "canonical", 0, trace(x), report, now() - began});
    finish(std::move(x), std::nullopt);
  }

 private:
  /// (I - sign(H - mu I)) / 2.
  M occupied_at(double mu) {
    const double began = now();
    M x = copied(h_);
    add_identity(x, -mu);
    const FunctionReport report = matrix_sign(x, function_options(options_, fmt::format("sign at mu = {:.6g}", mu)));
    scale(x, -0.5);
    add_identity(x, 0.5);
    out_.steps.push_back({"sign", mu, trace(x), report, now() - began});
    return x;
  }

  /// X^2, and how far X is from it.
  static M square_of(const M& x, const FunctionOptions& function, FunctionReport& report) {
    M square = symmetric_product(x, x, function, report);
    ++report.iterations;
    report.residual = norm_of_difference(copied(x), square) / frobenius_norm(square);
    report.occupation = std::max(report.occupation, x.occupation());
    // The last step leaves six times the square.
    report.converged = report.residual < std::sqrt(function.eps) / 4;
    if (function.progress) function.progress(report.iterations, report.residual);
    return square;
  }

  /// A step of TRS4: F = X^2 (4 X - 3 X^2), G = X^2 (I - X)^2 (equations 5 and 6), both without a product of their own.
  static void purify_once(M& x, double electrons, const FunctionOptions& function, FunctionReport& report) {
    constexpr double largest_gamma = 6;
    M square = square_of(x, function, report);
    const double x2 = trace(square), x3 = dot(square, x), x4 = dot(square, square);
    const double of_f = 4 * x3 - 3 * x4, of_g = x2 - 2 * x3 + x4;
    double gamma = of_g > 0 ? (electrons - of_f) / of_g : 0;
    // The last step is one of fourth order: X^2 alone would double the errors of occupied levels.
    if (report.converged) gamma = std::clamp(gamma, 0.0, largest_gamma);
    if (gamma > largest_gamma) {
      scale(x, 2.0);
      add(1.0, x, -1.0, square);
    } else if (gamma < 0) {
      x = std::move(square);
    } else {
      // X^2 (gamma I + (4 - 2 gamma) X + (gamma - 3) X^2)
      add(4 - 2 * gamma, x, gamma - 3, square);
      add_identity(x, gamma);
      x = symmetric_product(square, x, function, report);
    }
  }

  /// A step of canonical purification, which keeps the trace: the cubic polynomial of Palser and Manolopoulos (Phys.
  /// Rev. B 58 (1998) 12704); c = 1/2 is McWeeny's.
  static void purify_canonically_once(M& x, const FunctionOptions& function, FunctionReport& report) {
    const M square = square_of(x, function, report);
    const double x1 = trace(x), x2 = trace(square), x3 = dot(square, x);
    double c = x1 > x2 ? std::clamp((x2 - x3) / (x1 - x2), 0.0, 1.0) : 0.5;
    // The traces of what is left of X - X^2 are then rounding and filters.
    if (report.converged) c = 0.5;
    M rest = copied(x);  // X^2 ((1 + c) I - X), and (1 - 2 c) X for a small c
    scale(rest, -1.0);
    add_identity(rest, 1 + c);
    M next = symmetric_product(square, rest, function, report);
    if (c >= 0.5) {
      scale(next, 1 / c);
    } else {
      add(1 / (1 - c), next, (1 - 2 * c) / (1 - c), x);
    }
    x = std::move(next);
  }

  void finish(M x, std::optional<double> mu) {
    DensityStep& last = out_.steps.back();
    out_.converged = last.report.converged;
    out_.mu = mu;
    const M left = filtered_product(z_, x, Symmetry::none, to_basis_, last.report);
    x = M();
    out_.p = symmetric_product(left, transposed(z_), options_.function, last.report);
    last.report += transform_;
  }

  M h_;
  const M& z_;
  FunctionReport transform_;  ///< of Z^T H Z
  const DensityOptions& options_;
  FunctionOptions to_basis_ = options_.function;
  Density<M>& out_;
  double orbitals_;
  Interval spectrum_;
};

template <class M>
void solve_dense(const M& h, const M& s, const DensityOptions& options, DenseFactor<M>& kept, Density<M>& out) {
  constexpr double same_level = 1e-9;  // of the width of the spectrum; P then depends on rounding
  const double began = now();
  const std::int64_t n = h.rows().total();
  const auto occupied = [&](const std::vector<double>& levels) -> std::int64_t {
    if (options.electrons) return std::clamp<std::int64_t>(std::llround(*options.electrons), 1, n - 1);
    const std::int64_t below = std::lower_bound(levels.begin(), levels.end(), *options.mu) - levels.begin();
    if (below == 0 || below == n) refuse_mu(*options.mu, below == n, n);
    return below;
  };
  DenseDensity<M> dense = dense_density(h, s, occupied, kept);
  const std::size_t homo = std::size_t(occupied(dense.eigenvalues)) - 1;
  out.mu = options.mu.value_or((dense.eigenvalues[homo] + dense.eigenvalues[homo + 1]) / 2);
  out.p = std::move(dense.p);
  out.eigenvalues = std::move(dense.eigenvalues);
  const double gap = out.eigenvalues[homo + 1] - out.eigenvalues[homo];
  if (gap <= same_level * (out.eigenvalues.back() - out.eigenvalues.front())) {
    out.degenerate_level = (out.eigenvalues[homo] + out.eigenvalues[homo + 1]) / 2;
  }
  out.converged = true;
  out.steps.push_back({"dense", *out.mu, double(homo + 1), {}, now() - began});
}

}  // namespace

void require_whole_electrons(double electrons) {
  if (electrons == std::floor(electrons)) return;
  refuse(
      fmt::format("{} electrons: their number must be whole, as an orbital holds one electron or none; of a closed "
                  "shell give half of all electrons",
                  electrons));
}

std::string not_converged_text(const FunctionReport& last) {
  return fmt::format("not converged: residual {:.2e} after {} iterations", last.residual, last.iterations);
}

std::string density_doubts(const DensityFigures& figures) {
  constexpr double rounding = 1e-11;
  const double eps = std::max(figures.eps, rounding);
  const double idempotency_limit = std::min(100 * eps, 0.05), electrons_limit = std::min(10 * eps, 0.01);
  std::vector<std::string> all;
  if (const double off = std::abs(figures.electrons - figures.wanted); !(off <= electrons_limit * figures.wanted)) {
    all.push_back(fmt::format("tr(PS) is {:.6f} for {:g} electrons", figures.electrons, figures.wanted));
  }
  if (figures.idempotency && !(*figures.idempotency <= idempotency_limit)) {
    all.push_back(fmt::format("|PSPS - PS| / |PS| is {:.1e}", *figures.idempotency));
  }
  std::string text;
  if (!all.empty()) {
    text = fmt::format(
        "the density matrix is inaccurate: {}, too far off for eps = {:g}; a smaller eps may help, "
        "unless there is no gap",
        fmt::join(all, ", "), figures.eps);
  }
  if (figures.degenerate_level) {
    text += fmt::format(
        "{}the highest occupied and the lowest empty level are both at {:.10g}: the density matrix is "
        "not unique",
        text.empty() ? "" : "; ", *figures.degenerate_level);
  }
  return text;
}

DensityMethod density_method_named(const std::string& name) {
  if (name == "sign") return DensityMethod::sign;
  if (name == "trs4") return DensityMethod::trs4;
  if (name == "canonical") return DensityMethod::canonical;
  if (name == "dense") return DensityMethod::dense;
  refuse("unknown method '" + name + "': use sign, trs4, canonical or dense");
}

template <class M>
DensitySolver<M>::DensitySolver(M s, DensityOptions options) : s_(std::move(s)), options_(std::move(options)) {
  require_options(options_.function);
  require_symmetric_input(s_, "S");
  check_options(options_, s_.rows().total());
  if (options_.method == DensityMethod::dense) return;
  const double began = now();
  SquareRoots<M> roots = square_roots(s_, function_options(options_, "S^-1/2"));
  inverse_root_ = std::move(roots.inverse_root);
  roots_ = DensityStep{"roots", 0, 0, roots.report, now() - began};
}

template <class M>
Density<M> DensitySolver<M>::density(const M& h) {
  require_same(h.rows(), s_.rows(), "H and S");
  require_symmetric_input(h, "H");
  Density<M> out;
  if (roots_) out.steps.push_back(std::move(*roots_));
  roots_.reset();
  if (options_.method == DensityMethod::dense) {
    solve_dense(h, s_, options_, factor_, out);
  } else {
    Orthogonal<M> problem(h, inverse_root_, options_, out);
    if (options_.method == DensityMethod::trs4 || options_.method == DensityMethod::canonical) {
      problem.purify(*options_.electrons);
    } else if (options_.mu) {
      problem.at(*options_.mu);
    } else {
      problem.bisect(*options_.electrons, last_mu_);
    }
  }
  last_mu_ = out.mu;
  out.electrons = dot(out.p, s_);
  out.energy = dot(out.p, h);
  return out;
}

template <class M>
Density<M> density_matrix(const M& h, const M& s, const DensityOptions& options) {
  require_same(h.rows(), s.rows(), "H and S");
  require_symmetric_input(h, "H");
  return DensitySolver<M>(copied(s), options).density(h);
}

template <class M>
void mcweeny(M& p, const M& s, const FunctionOptions& options, FunctionReport& report) {
  const M ps = filtered_product(p, s, Symmetry::none, options, report);
  M psp = symmetric_product(ps, p, options, report);
  const M pspsp = symmetric_product(ps, psp, options, report);
  add(3.0, psp, -2.0, pspsp);
  p = std::move(psp);
}

/// tr(P' H) - tr(P H) with the idempotent P' that one step of McWeeny makes of P: tr(D H) - 2 tr(P S D H).
template <class M>
double energy_of_correction(const M& d, const M& ps, const M& h, const MultiplyOptions& options) {
  M there = without_symmetry(h);  // of P S D only what meets H
  MultiplyOptions at_h = options;
  at_h.retain_sparsity = true;
  multiply(1.0, Transpose::no, ps, Transpose::no, d, 0.0, there, at_h);
  return dot(d, h) - 2 * dot(there, without_symmetry(h));
}

template <class M>
double idempotency(const M& p, const M& s, double eps) {
  const MultiplyOptions options{.eps = eps};
  M ps(p.rows(), p.columns());
  multiply(1.0, Transpose::no, p, Transpose::no, s, 0.0, ps, options);
  return norm_of_product(1.0, Transpose::no, ps, Transpose::no, ps, -1.0, ps, options) / frobenius_norm(ps);
}

template <class M>
DensityCheck check_density(const M& p, const M& h, const M& s, double eps) {
  const MultiplyOptions options{.eps = eps};
  const M none(p.rows(), p.columns());
  DensityCheck out;
  M ps = copied(none), half(p.rows(), p.columns(), Symmetry::antisymmetric);
  multiply(1.0, Transpose::no, p, Transpose::no, s, 0.0, ps, options);
  const double ps_norm = frobenius_norm(ps);
  {
    M d = copied(p);  // PSP - P, which is small itself
    const MultiplyOptions small{.eps = eps / 100};
    multiply(1.0, Transpose::no, ps, Transpose::no, p, -1.0, d, small);
    const double off = norm_of_product(1.0, Transpose::no, d, Transpose::no, s, 0.0, none, small);
    out.idempotency = off / ps_norm;
    out.energy_error = std::abs(energy_of_correction(d, ps, h, options));
  }
  const double size = norm_of_product(1.0, Transpose::yes, ps, Transpose::no, h, 0.0, none, options);
  // S P H - H P S is antisymmetric, so that its upper half is enough.
  multiply(1.0, Transpose::yes, ps, Transpose::no, h, 0.0, half, options);
  out.commutation = norm_of_product(-1.0, Transpose::no, h, Transpose::no, ps, 1.0, half, options) / size;
  // In second order |C|^2 / (2 Delta); of the distance of levels Delta only their size is known, |SPH| / |PS|.
  out.energy_error += out.commutation * out.commutation * size * ps_norm / 2;
  return out;
}

#define QUADRILLE_DENSITY(M)                                                     \
  template class DensitySolver<M>;                                               \
  template Density<M> density_matrix(const M&, const M&, const DensityOptions&); \
  template void mcweeny(M&, const M&, const FunctionOptions&, FunctionReport&);  \
  template double idempotency(const M&, const M&, double);                       \
  template DensityCheck check_density(const M&, const M&, const M&, double);
QUADRILLE_FOR_MATRICES(QUADRILLE_DENSITY)
#undef QUADRILLE_DENSITY

}  // namespace quadrille::block_dft
