#include "modules/block_dft/functions/matrix_functions.h"

#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille::block_dft {
namespace {

/// Of an S whose roots are good for something: rounding alone makes them wrong by its product with 1e-16.
constexpr double largest_condition = 1e12;

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
M newton_schulz(M remainder, int order, const FunctionOptions& options, FunctionReport& report) {
  constexpr double c[] = {1, 1.0 / 2, 3.0 / 8, 5.0 / 16, 35.0 / 128};
  M square;
  if (order > 2) square = symmetric_product(remainder, remainder, options, report);
  if (order > 3) {  // r^2 (c_2 + c_3 r + c_4 r^2)
    M factor = copied(remainder);
    add(c[3], factor, order > 4 ? c[4] : 0, square);
    add_identity(factor, c[2]);
    square = symmetric_product(square, factor, options, report);
  } else if (order > 2) {
    scale(square, c[2]);
  }
  scale(remainder, c[1]);
  if (order > 2) add(1.0, remainder, 1.0, square);
  add_identity(remainder, c[0]);
  return remainder;
}

void count_step(FunctionReport& report, double residual, double occupation, const FunctionOptions& options) {
  ++report.iterations;
  report.residual = residual;
  report.occupation = std::max(report.occupation, occupation);
  if (options.progress) options.progress(report.iterations, residual);
}

/// The end of an iteration that corrects its own errors, each test of which is one of the result. Where the residual
/// is what filters left out, they are made finer, until it is rounding.
class Refinement {
 public:
  Refinement(const FunctionOptions& options, std::int64_t rows)
      : options_(options), step_(options), root_of_rows_(std::sqrt(double(rows))) {}

  /// Of products of iterates with the Frobenius norm `size`: what they leave out changes a residual by about eps.
  const FunctionOptions& step(double size) {
    size_ = std::max(1.0, size / root_of_rows_);
    step_.eps = options_.eps * finer_ / size_;
    return step_;
  }
  double target() const { return std::min(10 * options_.eps, std::sqrt(options_.eps)); }

  bool ends(FunctionReport& report, double residual, double occupation) {
    constexpr double finest = 1e-17, last_eigenvalue = 0.5;
    count_step(report, residual, occupation, options_);
    report.converged = residual <= target();
    const double left_out = (report.bound - bound_before_) * size_;
    // A single small eigenvalue keeps a residual where it is, too, until it has grown.
    const bool stuck =
        !(residual < residual_before_ / 2) && residual * root_of_rows_ < std::max(last_eigenvalue, left_out);
    residual_before_ = residual;
    bound_before_ = report.bound;
    if (report.converged || !stuck) return report.converged;
    finer_ /= 100;
    return options_.eps * finer_ < finest;
  }

 private:
  const FunctionOptions& options_;
  FunctionOptions step_;
  double root_of_rows_, size_ = 1, finer_ = 1, residual_before_ = INFINITY, bound_before_ = 0;
};

/// Rounding leaves a residual up to this size.
double rounding_limit(double condition) {
  return std::min(10 * std::numeric_limits<double>::epsilon() * condition, 1e-3);
}

/// The largest eigenvalue of A^T A or, where many are of that size, a bit less: their mean, weighted by themselves.
template <class M>
double largest_square(const M& a, FunctionReport& report) {
  const double norm = frobenius_norm(a);
  const FunctionOptions coarse{.eps = 1e-3 * norm * norm / double(a.rows().total())};
  FunctionReport costs;
  const double of_square = frobenius_norm(filtered_product(a, a, Symmetry::symmetric, coarse, costs, Transpose::yes));
  costs.bound = 0;  // A itself stays what it is
  report += costs;
  return std::pow(of_square / norm, 2);
}

/// The order of the next step of an iteration for roots: the lowest that reaches the target, otherwise the one with the
/// most progress for its products.
int order_of_step(double residual, double target) {
  for (const int order : {2, 3}) {
    if (std::pow(3 * residual, order) < target) return order;
  }
  return 5;
}

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::numerical, message); }

/// Of the matrix that square_roots() takes.
const char* name_of(const FunctionOptions& options) { return options.matrix == nullptr ? "S" : options.matrix; }

[[noreturn]] void fail_condition(const FunctionOptions& options, const char* about, double condition) {
  fail(
      fmt::format("{} is not positive definite, or too ill-conditioned: condition number {} {:.1e}, limit {:.0e}; from "
                  "an overlap matrix remove the most diffuse basis functions, or use density_matrix with method: dense",
                  name_of(options), about, condition, largest_condition));
}

[[noreturn]] void fail_residual(const std::string& what, const FunctionReport& report, const FunctionOptions& options) {
  fail(fmt::format("{}: after {} iterations the residual is {:.2e}, condition number about {:.1e}; a {} may help", what,
                   report.iterations, report.residual, report.condition,
                   report.iterations < options.max_iterations ? "smaller eps" : "larger max_iterations"));
}

}  // namespace

void require_options(const FunctionOptions& options) {
  if (!(options.eps > 0) || std::isinf(options.eps)) {
    throw Error(ErrorCode::invalid_input, fmt::format("eps = {}: it must be above 0, and finite", options.eps));
  }
  if (options.order && (*options.order < 2 || *options.order > 5)) {
    throw Error(ErrorCode::invalid_input, fmt::format("order = {}: it must be 2 to 5", *options.order));
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
    count_step(report, residual, a.occupation(), options);
    report.converged = last = residual < std::sqrt(options.eps);
    a = symmetric_product(a, newton_schulz(std::move(t), options.order.value_or(2), options, report), options, report);
  }
  return report;
}

template <class M>
SquareRoots<M> square_roots(const M& s, const FunctionOptions& options) {
  require_options(options);
  require_symmetric_input(s, name_of(options));
  SquareRoots<M> out;
  auto& [y, z, report] = out;
  const Interval spectrum = gershgorin(s);
  // Eigenvalues of Z^T S Z up to 2 at first.
  const double size = (std::max(spectrum.low, 0.0) + spectrum.high) / 2;
  if (!(size > 0))
    fail(fmt::format("{} is not positive definite: all eigenvalues are below {:.4g}", name_of(options), spectrum.high));
  M t = copied(s);
  scale(t, 1 / size);
  const M scaled = without_symmetry(t);
  z = without_symmetry(M(identity<double>(s.rows())));
  const double most = 3 * std::sqrt(double(s.rows().total()));
  for (Refinement refinement(options, s.rows().total());;) {
    const bool bounded = frobenius_norm(t) < most;
    const double residual = distance_from_identity(t);
    const bool last = refinement.ends(report, residual, z.occupation());
    // A negative eigenvalue grows beyond all bounds.
    if (!bounded)
      fail(fmt::format("{} is not positive definite: found after {} iterations", name_of(options), report.iterations));
    if (report.iterations == 1) y = copied(scaled);
    if (last || report.iterations >= options.max_iterations) break;
    y = M();
    const double z_norm = frobenius_norm(z);
    if (z_norm * z_norm > 1 / std::numeric_limits<double>::epsilon()) fail_condition(options, "above", z_norm * z_norm);
    const FunctionOptions& step = refinement.step(z_norm);
    t = newton_schulz(std::move(t), options.order.value_or(order_of_step(residual, refinement.target())), step, report);
    z = report.iterations == 1 ? without_symmetry(t) : filtered_product(z, t, Symmetry::none, step, report);
    y = filtered_product(scaled, z, Symmetry::none, step, report);
    t = filtered_product(z, y, Symmetry::symmetric, step, report, Transpose::yes);
  }
  report.condition = largest_square(z, report) * std::sqrt(largest_square(scaled, report));
  if (report.condition > largest_condition) fail_condition(options, "about", report.condition);
  report.converged = report.converged || report.residual <= rounding_limit(report.condition);
  if (!report.converged) fail_residual(fmt::format("{}^-1/2 has not converged", name_of(options)), report, options);
  scale(y, std::sqrt(size));
  scale(z, 1 / std::sqrt(size));
  return out;
}

template <class M>
Inverse<M> inverse(const M& a, const FunctionOptions& options) {
  require_options(options);
  require_finite(a, "A");
  if (a.symmetry() != Symmetry::none) {
    // A X is symmetric only as far as X is right: halves would multiply the errors of X by the condition number.
    Inverse<M> out = inverse(without_symmetry(a), options);
    out.matrix = with_symmetry(out.matrix, a.symmetry());
    return out;
  }
  Inverse<M> out{transposed(a), {}};
  auto& [x, report] = out;
  const double size = row_sum_norm(a), of_columns = row_sum_norm(x);
  if (!(size > 0)) fail("A is not invertible: all its elements are 0");
  M scaled = copied(a);
  scale(scaled, 1 / size);
  scale(x, 1 / of_columns);
  for (Refinement refinement(options, a.rows().total());;) {
    const FunctionOptions& step = refinement.step(1);
    M t = filtered_product(scaled, x, Symmetry::none, step, report);
    const double residual = distance_from_identity(t);
    if (refinement.ends(report, residual, x.occupation())) break;
    if (!std::isfinite(residual) || report.iterations >= options.max_iterations) break;
    add_identity(t, 1.0);
    x = filtered_product(x, t, Symmetry::none, step, report);
  }
  report.condition = std::sqrt(largest_square(x, report) * largest_square(scaled, report));
  report.converged = report.converged || report.residual <= rounding_limit(report.condition);
  if (!report.converged) fail_residual("A is not invertible, or too ill-conditioned", report, options);
  scale(x, 1 / size);
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
QUADRILLE_FOR_MATRICES(QUADRILLE_MATRIX_FUNCTIONS)
#undef QUADRILLE_MATRIX_FUNCTIONS

}  // namespace quadrille::block_dft
