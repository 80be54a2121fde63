// The functions of matrix_functions.h by their names, for the task `matrix_function` and calls from C, and what shows
// that their results are right.
#pragma once

#include "modules/block_dft/functions/matrix_functions.h"

#include <optional>
#include <string>

namespace quadrille::block_dft {

enum class Function { inverse, exponential, sign, square_root, inverse_square_root };

/// "inverse", "exponential", "sign", "square_root" or "inverse_square_root". Errors: ErrorCode::invalid_input for any
/// other name.
Function function_named(const std::string& name);

/// Whether it is one that FunctionOptions::order belongs to.
bool takes_order(Function function);

template <class M>
struct FunctionResult {
  M matrix;
  FunctionReport report;
};

/// f(A), stored as a symmetric matrix where A is. Roots are the mean (X + X^T) / 2 of the X that square_roots() gives.
/// A sign that has not converged is reported, with the last iterate as its matrix; the report of a sign has a
/// `condition`, too: the ratio of the largest |eigenvalue| to the smallest, to an order of magnitude. `options.order`
/// belongs to sign and roots.
///
/// Errors: ErrorCode::invalid_input for an A that is not square, a sign or root of one that is not stored as a
/// symmetric matrix, and an order of another function; ErrorCode::numerical for the sign of 0; those of
/// matrix_functions.h.
template <class M>
FunctionResult<M> function_of(const M& a, Function function, const FunctionOptions& options);

/// Why a result is not what it should be: a sign that has not converged, or whose matrix has an eigenvalue nearer to 0
/// than eps times the largest, which filters may have moved across 0. "not converged: ..." or "inaccurate: ..."; empty
/// if neither.
std::string function_doubts(Function function, const FunctionReport& report, double eps);

/// How far F is from f(A), Frobenius, by products that are filtered with eps; n: the rows of A.
struct FunctionCheck {
  /// inverse             |A F - I| / |I|
  /// exponential         |F e^-A - I| |I| / (|F| |e^-A|), e^-A by exponential() with eps, at least 1e-14
  /// sign                |F F - I| / |I|
  /// square_root         |F F - A| / |A|
  /// inverse_square_root |F A F - I| / |I|
  double residual = 0;
  std::optional<double> commutation;  ///< |F A - A F| / |F A|, of sign, as F F = I alone does not tell it from I
};
template <class M>
FunctionCheck check_function(const M& f, const M& a, Function function, double eps);

/// What FunctionCheck::residual is, as text.
const char* identity_of(Function function);

}  // namespace quadrille::block_dft
