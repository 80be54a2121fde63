#include "modules/block_dft/matrix_functions.h"

#include "core/error.h"
#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

/// |I - A| / |A|, Frobenius; A becomes I - A.
template <class M>
double distance_from_identity(M& a) {
  const double norm = frobenius_norm(a);
  scale(a, -1.0);
  add_identity(a, 1.0);
  return frobenius_norm(a) / norm;
}

/// The square root's series (1 - r)^-1/2 = sum of c_k r^k, up to r^(order - 1), in as few products as it takes.
template <class M>
M newton_schulz(M remainder, const FunctionOptions& options, FunctionReport& report) {
  constexpr double c[] = {1, 1.0 / 2, 3.0 / 8, 5.0 / 16, 35.0 / 128};
  M square;
  if (options.order > 2) square = symmetric_product(remainder, remainder, options, report);
  if (options.order > 3) {  // r^2 (c_2 + c_3 r + c_4 r^2)
    M factor = copied(remainder);
    add(c[3], factor, options.order > 4 ? c[4] : 0, square);
    add_identity(factor, c[2]);
    square = symmetric_product(square, factor, options, report);
  } else if (options.order > 2) {
    scale(square, c[2]);
  }
  scale(remainder, c[1]);
  if (options.order > 2) add(1.0, remainder, 1.0, square);
  add_identity(remainder, c[0]);
  return remainder;
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

void require_options(const FunctionOptions& options) {
  if (!(options.eps > 0) || std::isinf(options.eps)) {
    throw Error(ErrorCode::invalid_input, fmt::format("eps = {}: it must be above 0, and finite", options.eps));
  }
  if (options.order < 2 || options.order > 5) {
    throw Error(ErrorCode::invalid_input, fmt::format("order = {}: it must be 2 to 5", options.order));
  }
}

template <class M>
void require_symmetric_input(const M& a, const std::string& name) {
  if (a.symmetry() != Symmetry::symmetric) {
    throw Error(ErrorCode::invalid_input, name + " must be stored as a symmetric matrix: use with_symmetry()");
  }
  require_finite(a, name);
}

template <class M>
M filtered_product(const M& a, const M& b, Symmetry symmetry, const FunctionOptions& options, FunctionReport& report,
                   Transpose op_a) {
  M c(op_a == Transpose::no ? a.rows() : a.columns(), b.columns(), symmetry);
  report += multiply(1.0, op_a, a, Transpose::no, b, 0.0, c,
                     {.eps = options.eps, .mixed = options.mixed, .driver = options.driver});
  return c;
}

template <class M>
M symmetric_product(const M& a, const M& b, const FunctionOptions& options, FunctionReport& report) {
  return filtered_product(a, b, Symmetry::symmetric, options, report);
}

template <class M>
FunctionReport matrix_sign(M& a, const FunctionOptions& options) {
  require_options(options);
  require_symmetric_input(a, "A");
  FunctionReport report;
  const double largest = row_sum_norm(a);
  if (largest == 0) return report;
  scale(a, 1 / largest);
  for (bool last = false; !last && report.iterations < options.max_iterations;) {
    M t = symmetric_product(a, a, options, report);
    const double residual = distance_from_identity(t);
    if (!std::isfinite(residual)) break;
    last = step_done(report, residual, a.occupation(), options);
    a = symmetric_product(a, newton_schulz(std::move(t), options, report), options, report);
  }
  return report;
}

template <class M>
SquareRoots<M> square_roots(const M& s, const FunctionOptions& options) {
  require_options(options);
  require_symmetric_input(s, "S");
  SquareRoots<M> out{copied(s), M(identity<double>(s.rows())), {}};
  auto& [y, z, report] = out;
  const Interval spectrum = gershgorin(s);
  // Eigenvalues of Y up to 2: the iteration converges below 3.
  const double size = (std::max(spectrum.low, 0.0) + spectrum.high) / 2;
  if (!(size > 0)) fail_singular("S", "positive definite", report);
  scale(y, 1 / size);
  const double most = 3 * std::sqrt(double(s.rows().total()));
  for (bool last = false; !last;) {
    M t = symmetric_product(z, y, options, report);
    // A negative eigenvalue grows beyond all bounds.
    if (!(frobenius_norm(t) < most)) fail_singular("S", "positive definite", report);
    last = step_done(report, distance_from_identity(t), std::max(y.occupation(), z.occupation()), options);
    if (!last && report.iterations >= options.max_iterations) fail_singular("S", "positive definite", report);
    t = newton_schulz(std::move(t), options, report);
    y = symmetric_product(y, t, options, report);
    z = symmetric_product(t, z, options, report);
  }
  scale(y, std::sqrt(size));
  scale(z, 1 / std::sqrt(size));
  return out;
}

template <class M>
Inverse<M> inverse(const M& a, const FunctionOptions& options) {
  require_options(options);
  require_finite(a, "A");
  if (a.symmetry() == Symmetry::antisymmetric) {
    Inverse<M> out = inverse(without_symmetry(a), options);
    out.matrix = with_symmetry(out.matrix, Symmetry::antisymmetric);
    return out;
  }
  Inverse<M> out{transposed(a), {}};
  auto& [x, report] = out;
  const double size = row_sum_norm(a) * row_sum_norm(x);
  if (!(size > 0)) fail_singular("A", "invertible", report);
  scale(x, 1 / size);
  for (bool last = false; !last;) {
    M t = filtered_product(a, x, a.symmetry(), options, report);
    last = step_done(report, distance_from_identity(t), x.occupation(), options);
    if (!std::isfinite(report.residual) || (!last && report.iterations >= options.max_iterations)) {
      fail_singular("A", "invertible", report);
    }
    add_identity(t, 1.0);
    x = filtered_product(x, t, a.symmetry(), options, report);
  }
  return out;
}

template <class M>
Exponential<M> exponential(const M& a, const FunctionOptions& options) {
  constexpr double largest_norm = 700;  // e^709 is the largest of double
  require_options(options);
  require_finite(a, "A");
  const double norm = row_sum_norm(a);
  if (norm > largest_norm && a.symmetry() != Symmetry::antisymmetric) {
    throw Error(ErrorCode::numerical,
                fmt::format("|A|_inf = {:.4g}: above {} e^A may overflow in double precision", norm, largest_norm));
  }
  const int squares = norm > 0.5 ? int(std::ceil(std::log2(2 * norm))) : 0;
  M small = a.symmetry() == Symmetry::antisymmetric ? without_symmetry(a) : copied(a);
  scale(small, std::ldexp(1.0, -squares));
  Exponential<M> out{M(identity<double>(a.rows())), {}};
  auto& [sum, report] = out;
  if (small.symmetry() == Symmetry::none) sum = without_symmetry(sum);
  FunctionOptions function = options;
  function.eps = std::ldexp(options.eps, -squares);
  const auto count = [&] {
    ++report.iterations;
    report.occupation = std::max(report.occupation, sum.occupation());
    if (options.progress) options.progress(report.iterations, report.residual);
  };
  M term = copied(small);
  for (int power = 2;; ++power) {
    report.residual = frobenius_norm(term);
    add(1.0, sum, 1.0, term);
    count();
    if (report.residual < function.eps) break;
    term = filtered_product(term, small, small.symmetry(), function, report);
    scale(term, 1.0 / power);
  }
  for (int square = 0; square < squares; ++square) {
    function.eps *= 2;
    sum = filtered_product(sum, sum, sum.symmetry(), function, report);
    count();
  }
  report.converged = true;
  return out;
}

#define QUADRILLE_MATRIX_FUNCTIONS(M)                                                                            \
  template FunctionReport matrix_sign(M&, const FunctionOptions&);                                               \
  template SquareRoots<M> square_roots(const M&, const FunctionOptions&);                                        \
  template Inverse<M> inverse(const M&, const FunctionOptions&);                                                 \
  template Exponential<M> exponential(const M&, const FunctionOptions&);                                         \
  template M filtered_product(const M&, const M&, Symmetry, const FunctionOptions&, FunctionReport&, Transpose); \
  template M symmetric_product(const M&, const M&, const FunctionOptions&, FunctionReport&);                     \
  template void require_symmetric_input(const M&, const std::string&);
QUADRILLE_MATRIX_FUNCTIONS(BlockMatrix<double>)
QUADRILLE_MATRIX_FUNCTIONS(DeviceMatrix)
#undef QUADRILLE_MATRIX_FUNCTIONS

}  // namespace quadrille::block_dft
