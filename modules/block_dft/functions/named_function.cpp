#include "modules/block_dft/functions/named_function.h"

#include "core/error.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::block_dft {
namespace {

[[noreturn]] void refuse_function(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

template <class M>
void require_square(const M& a) {
  if (a.rows().sizes() == a.columns().sizes()) return;
  refuse_function(
      fmt::format("A has {} rows in {} blocks and {} columns in {}: it must be square, with the same blocks of rows "
                  "and columns",
                  a.rows().total(), a.rows().count(), a.columns().total(), a.columns().count()));
}

/// The ratio of the largest |eigenvalue| to the smallest, roughly: each step multiplies a small one by T(1), the sum of
/// the series, and about five more end the iteration.
double condition_of_sign(int iterations, int order) {
  constexpr double growth[] = {1.5, 1.875, 2.1875, 2.4609375};
  constexpr int last_steps = 5;
  return std::pow(growth[order - 2], std::max(0, iterations - last_steps));
}

template <class M>
FunctionResult<M> sign_of(const M& a, const FunctionOptions& options) {
  FunctionResult<M> out{copied(a), {}};
  out.report = matrix_sign(out.matrix, options);
  if (out.report.iterations == 0) throw Error(ErrorCode::numerical, "all elements of A are 0: it has no sign");
  out.report.condition = condition_of_sign(out.report.iterations, options.order.value_or(2));
  return out;
}

template <class M>
FunctionResult<M> root_of(const M& a, bool inverted, const FunctionOptions& options) {
  SquareRoots<M> roots = square_roots(a, options);
  return {with_symmetry(inverted ? roots.inverse_root : roots.root, Symmetry::symmetric), roots.report};
}

/// |F B - I| / |I|.
template <class M>
double distance_of_product(const M& f, const M& b, const MultiplyOptions& options) {
  const M one(identity<double>(f.rows()));
  return norm_of_product(1.0, Transpose::no, f, Transpose::no, b, -1.0, without_symmetry(one), options) /
         frobenius_norm(one);
}

template <class M>
double exponential_residual(const M& f, const M& a, const MultiplyOptions& options) {
  M minus = copied(a);
  scale(minus, -1.0);
  const M inverted = exponential(minus, {.eps = std::max(options.eps, 1e-14)}).matrix;
  const double n = double(a.rows().total());
  return distance_of_product(f, inverted, options) * n / (frobenius_norm(f) * frobenius_norm(inverted));
}

/// |F A - A F| / |F A|. The difference is antisymmetric, so that its upper half is enough.
template <class M>
double commutation_of(const M& f, const M& a, const MultiplyOptions& options) {
  const M none(f.rows(), f.columns());
  M half(f.rows(), f.columns(), Symmetry::antisymmetric);
  multiply(1.0, Transpose::no, f, Transpose::no, a, 0.0, half, options);
  return norm_of_product(-1.0, Transpose::no, a, Transpose::no, f, 1.0, half, options) /
         norm_of_product(1.0, Transpose::no, f, Transpose::no, a, 0.0, none, options);
}

}  // namespace

Function function_named(const std::string& name) {
  if (name == "inverse") return Function::inverse;
  if (name == "exponential") return Function::exponential;
  if (name == "sign") return Function::sign;
  if (name == "square_root") return Function::square_root;
  if (name == "inverse_square_root") return Function::inverse_square_root;
  refuse_function("unknown function '" + name +
                  "': use inverse, exponential, sign, square_root or inverse_square_root");
}

bool takes_order(Function function) { return function != Function::inverse && function != Function::exponential; }

const char* identity_of(Function function) {
  switch (function) {
    case Function::inverse: return "|A F - I| / |I|";
    case Function::exponential: return "|F e^-A - I| |I| / (|F| |e^-A|)";
    case Function::sign: return "|F F - I| / |I|";
    case Function::square_root: return "|F F - A| / |A|";
    case Function::inverse_square_root: return "|F A F - I| / |I|";
  }
  return "";
}

template <class M>
FunctionResult<M> function_of(const M& a, Function function, const FunctionOptions& options) {
  require_square(a);
  if (options.order && !takes_order(function)) refuse_function("order belongs to sign and roots: leave it out");
  FunctionOptions named = options;
  named.matrix = "A";
  switch (function) {
    case Function::inverse: {
      Inverse<M> out = inverse(a, named);
      return {std::move(out.matrix), out.report};
    }
    case Function::exponential: {
      Exponential<M> out = exponential(a, named);
      return {std::move(out.matrix), out.report};
    }
    case Function::sign: return sign_of(a, named);
    case Function::square_root:
    case Function::inverse_square_root: break;
  }
  return root_of(a, function == Function::inverse_square_root, named);
}

std::string function_doubts(Function function, const FunctionReport& report, double eps) {
  if (!report.converged) {
    return fmt::format("{}; an eigenvalue at 0, or near to it, has no sign", not_converged_text(report));
  }
  if (function != Function::sign || report.condition * eps <= 1) return "";
  return fmt::format(
      "inaccurate: A has an eigenvalue of about {:.0e} of its largest, which is too near to 0 to have a sign with eps "
      "= {:g}",
      1 / report.condition, eps);
}

template <class M>
FunctionCheck check_function(const M& f, const M& a, Function function, double eps) {
  require_square(a);
  require_same(f.rows(), a.rows(), "F and A");
  require_same(f.columns(), a.columns(), "F and A");
  const MultiplyOptions options{.eps = eps};
  switch (function) {
    case Function::inverse: return {distance_of_product(a, f, options), {}};
    case Function::exponential: return {exponential_residual(f, a, options), {}};
    case Function::sign: return {distance_of_product(f, f, options), commutation_of(f, a, options)};
    case Function::square_root:
      return {norm_of_product(1.0, Transpose::no, f, Transpose::no, f, -1.0, a, options) / frobenius_norm(a), {}};
    case Function::inverse_square_root: break;
  }
  M fa(f.rows(), f.columns());
  multiply(1.0, Transpose::no, f, Transpose::no, a, 0.0, fa, options);
  return {distance_of_product(fa, f, options), {}};
}

#define QUADRILLE_NAMED_FUNCTIONS(M)                                                  \
  template FunctionResult<M> function_of(const M&, Function, const FunctionOptions&); \
  template FunctionCheck check_function(const M&, const M&, Function, double);
QUADRILLE_FOR_MATRICES(QUADRILLE_NAMED_FUNCTIONS)
#undef QUADRILLE_NAMED_FUNCTIONS

}  // namespace quadrille::block_dft
