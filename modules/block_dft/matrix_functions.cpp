#include "modules/block_dft/matrix_functions.h"

#include "core/error.h"
#include "modules/block_dft/block_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

using Matrix = BlockMatrix<double>;

/// |I - A| / |A|, Frobenius; A becomes I - A.
double distance_from_identity(Matrix& a) {
  const double norm = frobenius_norm(a);
  scale(a, -1.0);
  add_identity(a, 1.0);
  return frobenius_norm(a) / norm;
}

/// (3 I - A) / 2 of what is I - A: I + (I - A) / 2.
void make_newton_schulz(Matrix& remainder) {
  scale(remainder, 0.5);
  add_identity(remainder, 1.0);
}

/// Counts a step; whether its residual ends the iteration.
bool step_done(FunctionReport& report, double residual, double occupation, const FunctionOptions& options) {
  ++report.iterations;
  report.residual = residual;
  report.occupation = std::max(report.occupation, occupation);
  if (options.progress) options.progress(report.iterations, residual);
  report.converged = residual < std::sqrt(options.eps);
  return report.converged;
}

[[noreturn]] void fail_singular(const std::string& name, const char* must, const FunctionReport& report) {
  throw Error(
      ErrorCode::numerical,
      fmt::format("{} is not {}, or too ill-conditioned for this eps: after {} iterations the residual is {:.2e}", name,
                  must, report.iterations, report.residual));
}

}  // namespace

void require_symmetric_input(const Matrix& a, const std::string& name, double eps) {
  if (a.symmetry() != Symmetry::symmetric) {
    throw Error(ErrorCode::invalid_input, name + " must be stored as a symmetric matrix: see with_symmetry()");
  }
  if (!(eps > 0) || std::isinf(eps)) {
    throw Error(ErrorCode::invalid_input, fmt::format("eps = {}: it must be above 0, and finite", eps));
  }
  require_finite(a, name);
}

Matrix symmetric_product(const Matrix& a, const Matrix& b, const FunctionOptions& options, FunctionReport& report) {
  Matrix c(a.rows(), b.columns(), Symmetry::symmetric);
  const MultiplyReport product =
      multiply(1.0, Transpose::no, a, Transpose::no, b, 0.0, c, {.eps = options.eps, .driver = options.driver});
  report.bound += product.bound;
  report.flops += product.flops;
  return c;
}

FunctionReport matrix_sign(Matrix& a, const FunctionOptions& options) {
  require_symmetric_input(a, "A", options.eps);
  FunctionReport report;
  const Interval spectrum = gershgorin(a);
  const double largest = std::max(std::abs(spectrum.low), std::abs(spectrum.high));
  if (largest == 0) return report;
  scale(a, 1 / largest);
  for (bool last = false; !last && report.iterations < options.max_iterations;) {
    Matrix t = symmetric_product(a, a, options, report);
    const double residual = distance_from_identity(t);
    if (!std::isfinite(residual)) break;
    last = step_done(report, residual, a.occupation(), options);
    make_newton_schulz(t);
    a = symmetric_product(a, t, options, report);
  }
  return report;
}

SquareRoots square_roots(const Matrix& s, const FunctionOptions& options) {
  require_symmetric_input(s, "S", options.eps);
  SquareRoots out{s, identity<double>(s.rows()), {}};
  auto& [y, z, report] = out;
  const Interval spectrum = gershgorin(s);
  // Eigenvalues of Y up to 2: the iteration converges below 3.
  const double size = (std::max(spectrum.low, 0.0) + spectrum.high) / 2;
  if (!(size > 0)) fail_singular("S", "positive definite", report);
  scale(y, 1 / size);
  const double most = 3 * std::sqrt(double(s.rows().total()));
  for (bool last = false; !last;) {
    Matrix t = symmetric_product(z, y, options, report);
    // A negative eigenvalue grows beyond all bounds.
    if (!(frobenius_norm(t) < most)) fail_singular("S", "positive definite", report);
    last = step_done(report, distance_from_identity(t), std::max(y.occupation(), z.occupation()), options);
    if (!last && report.iterations >= options.max_iterations) fail_singular("S", "positive definite", report);
    make_newton_schulz(t);
    y = symmetric_product(y, t, options, report);
    z = symmetric_product(t, z, options, report);
  }
  scale(y, std::sqrt(size));
  scale(z, 1 / std::sqrt(size));
  return out;
}

Inverse inverse(const Matrix& a, const FunctionOptions& options) {
  require_symmetric_input(a, "A", options.eps);
  Inverse out{a, {}};
  auto& [x, report] = out;
  const Interval spectrum = gershgorin(a);
  const double largest = std::max(std::abs(spectrum.low), std::abs(spectrum.high));
  if (!(largest > 0)) fail_singular("A", "regular", report);
  scale(x, 1 / (largest * largest));
  for (bool last = false; !last;) {
    Matrix t = symmetric_product(a, x, options, report);
    last = step_done(report, distance_from_identity(t), x.occupation(), options);
    if (!std::isfinite(report.residual) || (!last && report.iterations >= options.max_iterations)) {
      fail_singular("A", "regular", report);
    }
    add_identity(t, 1.0);
    x = symmetric_product(x, t, options, report);
  }
  return out;
}

}  // namespace quadrille::block_dft
