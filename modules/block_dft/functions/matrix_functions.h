// Functions of symmetric block-sparse matrices by products alone (Higham, Functions of Matrices, chapters 5 and 6).
//
// Polynomials of one symmetric matrix commute, so products of them are symmetric, are stored so and only their upper
// halves are computed. Every product is filtered with eps; `bound` sums what that left out.
//
// M is a matrix of the engine that does the work: BlockMatrix<double> on the CPU, or DeviceMatrix (device.h), which
// stays in the memory of a GPU through all iterations.
#pragma once

#include "modules/block_dft/product/multiply.h"

#include <functional>
#include <optional>

namespace quadrille::block_dft {

struct FunctionOptions {
  /// Of every product. Roots and inverse end at a residual of 10 eps, sign one step after one of sqrt(eps), which that
  /// step squares at least.
  double eps = 1e-6;
  /// Of sign and roots, 2 to 5: the power of the residual that a step leaves. 2 is Newton-Schulz. None: 2 for sign, and
  /// for roots what takes the fewest products.
  std::optional<int> order{};
  int max_iterations = 100;
  bool mixed = false;  ///< products in mixed precision: multiply.h
  Driver driver = Driver::automatic;
  const char* matrix = nullptr;  ///< what messages call the matrix; null: S of roots, A of others
  /// Called after each iteration with its number and its residual; may throw to stop.
  std::function<void(int, double)> progress{};
};

/// What an iteration did, and what its products cost.
struct FunctionReport : ProductCosts {
  int iterations = 0;
  bool converged = false;
  double residual = 0;    ///< of the last test, relative; that of the result, or, of sign and TRS4, of a step before
  double occupation = 0;  ///< the largest of an iterate
  double condition = 0;   ///< of roots and inverse: about the condition number of S, or A, in the 2-norm
};

// Errors of all: ErrorCode::invalid_input for an eps that is not above 0 and an order that is none;
// ErrorCode::numerical for elements that are not finite. Sign and roots take matrices that are stored as symmetric ones
// only (ErrorCode::invalid_input).

/// A becomes sign(A), of eigenvalues -1 and 1: X <- X T(I - X^2) from A over its Gershgorin bound, until |I - X^2| <
/// sqrt(eps) |X^2|. T(R) is (I - R)^-1/2 up to R^(order - 1): (3 I - X^2) / 2 of order 2 (equation 2 of the paper). A
/// step of order 2 takes two products, of 3 three, of 4 and 5 four. An eigenvalue at 0 keeps it from converging, which
/// is reported.
template <class M>
FunctionReport matrix_sign(M& a, const FunctionOptions& options);

/// S^1/2 and S^-1/2 of a positive definite S together. Z = S^-1/2 is found by Z <- Z T, T = T(I - Z^T S Z) as above
/// from Z = I, S scaled: each test uses S itself, and Z^T S Z = I is all that Z is corrected to, so that errors are
/// never multiplied by the condition number (Niklasson's refinement of inverse factors; in exact arithmetic this is the
/// sign iteration of [0 S; I 0], equation 4). The price: Z, stored whole, is symmetric up to errors of the size of eps.
/// S^1/2 is S Z. Filters are as much finer than eps as Z is larger than I, and finer still where the residual does not
/// go below 10 eps, or rounding. Further errors: ErrorCode::numerical where S is not positive definite, has a condition
/// number above 1e12, or needs more than max_iterations.
template <class M>
struct SquareRoots {
  M root, inverse_root;
  FunctionReport report;
};
template <class M>
SquareRoots<M> square_roots(const M& s, const FunctionOptions& options);

/// A^-1 of a square A with A's symmetry: X <- X (2 I - A X) from A^T / (|A|_1 |A|_inf), until |I - A X| < 10 eps |A X|,
/// or rounding; of a symmetric A the mean of X and X^T. Filters are finer where needed, as above. Errors as of
/// square_roots for a singular A.
template <class M>
struct Inverse {
  M matrix;
  FunctionReport report;
};
template <class M>
Inverse<M> inverse(const M& a, const FunctionOptions& options);

/// e^A of a square A, symmetric where A is: e^A = (e^(A / 2^s))^(2^s), with |A / 2^s|_inf at most 1/2 in a Taylor
/// series that ends when a term has a Frobenius norm below eps / 2^s. Products before the last square leave out that
/// much less than eps, as each square doubles relative errors. `residual` is the norm of the last term, `iterations`
/// counts terms and squares. Errors: ErrorCode::numerical for an e^A beyond the range of double.
template <class M>
struct Exponential {
  M matrix;
  FunctionReport report;
};
template <class M>
Exponential<M> exponential(const M& a, const FunctionOptions& options);

/// op(A) B with `symmetry`, filtered; adds to the report. That it has the symmetry is the caller's promise: multiply.h.
template <class M>
M filtered_product(const M& a, const M& b, Symmetry symmetry, const FunctionOptions& options, FunctionReport& report,
                   Transpose op_a = Transpose::no);

/// The same of a symmetric A B.
template <class M>
M symmetric_product(const M& a, const M& b, const FunctionOptions& options, FunctionReport& report);

/// Throw as said above.
void require_options(const FunctionOptions& options);
template <class M>
void require_symmetric_input(const M& a, const std::string& name);

}  // namespace quadrille::block_dft
