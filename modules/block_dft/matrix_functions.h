// Functions of symmetric block-sparse matrices by products alone (Higham, Functions of Matrices, chapters 5 and 6).
//
// All work on symmetric storage: polynomials of one symmetric matrix commute, so products of them are symmetric and
// only their upper halves are computed. Every product is filtered with eps; `bound` sums what that left out.
#pragma once

#include "modules/block_dft/multiply.h"

#include <functional>

namespace quadrille::block_dft {

struct FunctionOptions {
  /// Of every product; an iteration ends when its residual is below sqrt(eps), after one step more, which squares it.
  double eps = 1e-6;
  int max_iterations = 100;
  Driver driver = Driver::automatic;
  /// Called after each iteration with its number and its residual; may throw to stop.
  std::function<void(int, double)> progress{};
};

/// What an iteration did.
struct FunctionReport {
  int iterations = 0;
  bool converged = false;
  double residual = 0;  ///< of the last test, relative; the result is a step better
  double bound = 0;     ///< sum of the bounds of all products: Frobenius norms of what filters left out
  double flops = 0;
  double occupation = 0;  ///< the largest of an iterate
};

// Errors of all: ErrorCode::invalid_input for a matrix that is not stored as a symmetric one and an eps that is not
// above 0; ErrorCode::numerical for elements that are not finite.

/// A becomes sign(A), of eigenvalues -1 and 1: X <- X (3 I - X^2) / 2 from A over its Gershgorin bound, until |I - X^2|
/// < sqrt(eps) |X^2| (equation 2 of the paper). An eigenvalue at 0 keeps it from converging, which is reported.
FunctionReport matrix_sign(BlockMatrix<double>& a, const FunctionOptions& options);

/// S^1/2 and S^-1/2 of a positive definite S together: the sign iteration of [0 S; I 0] (equation 4), which is Y <- Y
/// T, Z <- T Z, T = (3 I - Z Y) / 2 from Y = S / s and Z = I, until |I - Z Y| < sqrt(eps) |Z Y|. Further errors:
/// ErrorCode::numerical where S is not positive definite, or so ill-conditioned that max_iterations are spent.
struct SquareRoots {
  BlockMatrix<double> root, inverse_root;
  FunctionReport report;
};
SquareRoots square_roots(const BlockMatrix<double>& s, const FunctionOptions& options);

/// A^-1 of a symmetric A, definite or not: X <- X (2 I - A X) from A / |A|_inf^2, until |I - A X| < sqrt(eps) |A X|.
/// Errors as of square_roots for a singular A.
struct Inverse {
  BlockMatrix<double> matrix;
  FunctionReport report;
};
Inverse inverse(const BlockMatrix<double>& a, const FunctionOptions& options);

/// C = A B of which the caller knows that it is symmetric, filtered; adds to the report.
BlockMatrix<double> symmetric_product(const BlockMatrix<double>& a, const BlockMatrix<double>& b,
                                      const FunctionOptions& options, FunctionReport& report);

/// Throws as said above.
void require_symmetric_input(const BlockMatrix<double>& a, const std::string& name, double eps);

}  // namespace quadrille::block_dft
