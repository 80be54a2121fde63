// Density matrices of a Hamiltonian H and an overlap matrix S, in time linear in their size where they are sparse.
//
// P = 1/2 Z (I - sign(Z^T H Z - mu I)) Z^T with Z = S^-1/2: equation 3 of the paper in a symmetric form. There is
// one electron per occupied orbital: tr(P S) = N. A closed shell of N electrons has N / 2 here, and 2 P.
//
// M is the engine's matrix, on the CPU or on a GPU: matrix_functions.h.
#pragma once

#include "modules/block_dft/functions/matrix_functions.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::eigen {
template <class T>
class Factor;
}

namespace quadrille::block_dft {

enum class DensityMethod {
  sign,       ///< by the matrix sign function; mu is bisected where a number of electrons is given
  trs4,       ///< trace-resetting purification of fourth order (Niklasson et al.), for a number of electrons
  canonical,  ///< canonical purification (Palser and Manolopoulos), for a number of electrons
  dense       ///< the occupied eigenvectors by the module eigen: on a CPU by LAPACK
};
/// Errors: ErrorCode::invalid_input for an unknown name.
DensityMethod density_method_named(const std::string& name);

/// Exactly one of `mu` and `electrons` is given.
struct DensityOptions {
  DensityMethod method = DensityMethod::sign;
  std::optional<double> mu{};
  std::optional<double> electrons{};  ///< a whole number
  FunctionOptions function{};
  int max_bisections = 100;
  /// Says what is done: "S^-1/2", "sign at mu = -0.2", "TRS4"; iteration and residual.
  std::function<void(const std::string&, int, double)> progress{};
};

/// What was done for one sign function or purification, or S^-1/2.
struct DensityStep {
  std::string what;      ///< "roots", "sign", "trs4", "canonical"
  double mu = 0;         ///< of "sign"
  double electrons = 0;  ///< tr of the orthogonal density matrix
  FunctionReport report;
  double seconds = 0;
};

template <class M>
struct Density {
  M p;                       ///< symmetric
  std::optional<double> mu;  ///< absent of purifications, which do not need it
  double electrons = 0;      ///< tr(P S)
  double energy = 0;         ///< tr(P H)
  bool converged = false;
  std::vector<DensityStep> steps;
  std::vector<double> eigenvalues;  ///< of the dense method
  /// Of the dense method: where the highest occupied and the lowest empty level are, if they are the same.
  std::optional<double> degenerate_level;
};

/// H and S are symmetric, cut alike. Bisection ends when |tr(P S) - N| < 1/2. Purifications end as sign does, at
/// |X - X^2| < sqrt(eps) / 4 |X^2|: TRS4 with its gamma in [0, 6], canonical purification with a step of McWeeny.
///
/// Errors: ErrorCode::invalid_input for a number of electrons that is not a whole number above 0 and below the number
/// of orbitals, a mu outside of the spectrum (no orbital, or all of them, below it), mu and electrons both or neither,
/// purification with a mu; ErrorCode::numerical for an S that is not positive definite, levels so close that no mu has
/// N electrons below it; and those of matrix_functions.h. An iteration that does not converge is reported, not thrown.
template <class M>
Density<M> density_matrix(const M& h, const M& s, const DensityOptions& options);

/// "not converged: residual 2.1e-02 after 100 iterations".
std::string not_converged_text(const FunctionReport& last);

/// The type of the Cholesky factor of an M.
template <class M>
struct DenseFactorOf;
template <>
struct DenseFactorOf<BlockMatrix<double>> {
  using Type = eigen::Factor<double>;
};
/// That of S, made by the first dense_density() and used by those that follow with the same S.
template <class M>
using DenseFactor = std::shared_ptr<const typename DenseFactorOf<M>::Type>;

/// Density matrices of many Hamiltonians with one overlap matrix. S^-1/2 (dense: the Cholesky factor of S) is
/// computed once, and bisection begins at the mu of the last one. Errors as of density_matrix.
template <class M>
class DensitySolver {
 public:
  DensitySolver(M s, DensityOptions options);
  Density<M> density(const M& h);
  /// S^-1/2; empty with the dense method.
  const M& inverse_root() const { return inverse_root_; }

 private:
  M s_, inverse_root_;
  DensityOptions options_;
  std::optional<DensityStep> roots_;  ///< of the next density's steps
  std::optional<double> last_mu_;
  DenseFactor<M> factor_;
};

/// P <- 3 P S P - 2 P S P S P (McWeeny): what is left of PSPS - PS is squared.
template <class M>
void mcweeny(M& p, const M& s, const FunctionOptions& options, FunctionReport& report);

/// How far P is from a density matrix: |P S P S - P S| / |P S| and |S P H - H P S| / |S P H|, Frobenius, by products
/// that are filtered with eps; and an estimate of the error of tr(P H): by how much it changes if P is made idempotent,
/// and, of second order, what a commutator C adds to it, about |C|^2 |P S| / (2 |S P H|).
struct DensityCheck {
  double idempotency = 0, commutation = 0, energy_error = 0;
};
template <class M>
DensityCheck check_density(const M& p, const M& h, const M& s, double eps);

/// |P S P S - P S| / |P S| alone.
template <class M>
double idempotency(const M& p, const M& s, double eps);

/// Why a density matrix is not what it should be although its iteration has converged: its electrons or its idempotency
/// are further off than a filter with eps explains, or it is one of many (a degenerate frontier). Empty if none of
/// these. A good one has an idempotency of the order of eps, up to 10 eps in practice, and a |tr(P S) - N| below eps N:
/// limits are min(100 eps, 0.05) and min(10 eps, 0.01) N.
struct DensityFigures {
  double electrons = 0, wanted = 0;  ///< tr(P S), N
  std::optional<double> idempotency{};
  double eps = 0;
  std::optional<double> degenerate_level{};
};
std::string density_doubts(const DensityFigures& figures);
/// The same of a density matrix that was made with these options.
template <class M>
std::string doubts_of(const Density<M>& density, const DensityOptions& options, std::optional<double> idempotency) {
  const double wanted = options.electrons.value_or(std::round(density.steps.back().electrons));
  return density_doubts({density.electrons, wanted, idempotency, options.function.eps, density.degenerate_level});
}

/// "not converged: residual 2.1e-02 after 100 iterations".
template <class M>
std::string not_converged_text(const Density<M>& density) {
  return not_converged_text(density.steps.back().report);
}

/// Throws for a number of electrons that is not a whole number: ErrorCode::invalid_input.
void require_whole_electrons(double electrons);

/// Throws NotEnoughMemory, saying how much eigenvectors of H and S take on the rank that computes them, unless that
/// and `besides` bytes are free here.
void require_dense_memory(std::int64_t orbitals, double besides = 0);

/// All eigenvalues of H c = e S c in ascending order and P with `occupied(e)` orbitals, by the module eigen. `occupied`
/// is given all eigenvalues and says how many count. On a grid rank 0 does all of it. Errors: ErrorCode::numerical for
/// an S that is not positive definite, ErrorCode::unsupported for memory that does not suffice.
template <class M>
struct DenseDensity {
  std::vector<double> eigenvalues;
  M p;
};
using CountOccupied = std::function<std::int64_t(const std::vector<double>&)>;
DenseDensity<BlockMatrix<double>> dense_density(const BlockMatrix<double>& h, const BlockMatrix<double>& s,
                                                const CountOccupied& occupied, DenseFactor<BlockMatrix<double>>& kept);

}  // namespace quadrille::block_dft
