// Density matrices of a Hamiltonian H and an overlap matrix S, in time linear in their size where they are sparse.
//
// P = 1/2 Z (I - sign(Z H Z - mu I)) Z with Z = S^-1/2, which is equation 3 of the paper in a symmetric form. There is
// one electron per occupied orbital: tr(P S) = N. A closed shell of N electrons has N / 2 here, and 2 P.
//
// M is the engine's matrix, on the CPU or on a GPU: matrix_functions.h.
#pragma once

#include "modules/block_dft/matrix_functions.h"

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
  sign,  ///< by the matrix sign function; mu is bisected where a number of electrons is given
  trs4,  ///< trace-resetting purification of fourth order (Niklasson et al.), for a number of electrons
  dense  ///< the occupied eigenvectors by LAPACK (the module eigen), on a GPU by cuSOLVER
};
/// Errors: ErrorCode::invalid_input for an unknown name.
DensityMethod density_method_named(const std::string& name);

/// Exactly one of `mu` and `electrons` is given.
struct DensityOptions {
  DensityMethod method = DensityMethod::sign;
  std::optional<double> mu{};
  std::optional<double> electrons{};
  FunctionOptions function{};
  int max_bisections = 100;
  /// Says what is done: "S^-1/2", "sign at mu = -0.2", "TRS4"; iteration and residual.
  std::function<void(const std::string&, int, double)> progress{};
};

/// What was done for one sign function or purification, or S^-1/2.
struct DensityStep {
  std::string what;      ///< "roots", "sign", "trs4"
  double mu = 0;         ///< of "sign"
  double electrons = 0;  ///< tr of the orthogonal density matrix
  FunctionReport report;
  double seconds = 0;
};

template <class M>
struct Density {
  M p;                       ///< symmetric
  std::optional<double> mu;  ///< absent of TRS4, which does not need it
  double electrons = 0;      ///< tr(P S)
  double energy = 0;         ///< tr(P H)
  bool converged = false;
  std::vector<DensityStep> steps;
  std::vector<double> eigenvalues;  ///< of the dense method
};

/// H and S are symmetric, cut alike. Bisection ends when |tr(P S) - N| < 1/2. TRS4 ends as sign does, at |X - X^2| <
/// sqrt(eps) |X^2|, its gamma being kept in [0, 6].
///
/// Errors: ErrorCode::invalid_input for a number of electrons that is not above 0 and below the number of orbitals, a
/// mu outside of the spectrum (no orbital, or all of them, below it), mu and electrons both or neither, TRS4 with a mu;
/// ErrorCode::numerical for an S that is not positive definite, levels so close that no mu has N electrons below it;
/// and those of matrix_functions.h. An iteration that does not converge is reported, not thrown.
template <class M>
Density<M> density_matrix(const M& h, const M& s, const DensityOptions& options);

/// The Cholesky factor of S, made by the first dense_density() and used by those that follow with the same S.
using DenseFactor = std::shared_ptr<const eigen::Factor<double>>;

/// Density matrices of many Hamiltonians with one overlap matrix. S^-1/2 (dense: on a CPU the Cholesky factor of S) is
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
  DenseFactor factor_;
};

/// P <- 3 P S P - 2 P S P S P (McWeeny): what is left of PSPS - PS is squared.
template <class M>
void mcweeny(M& p, const M& s, const FunctionOptions& options, FunctionReport& report);

/// How far P is from a density matrix: |P S P S - P S| / |P S| and |S P H - H P S| / |S P H|, Frobenius, by products
/// that are filtered with eps.
struct DensityCheck {
  double idempotency = 0, commutation = 0;
};
template <class M>
DensityCheck check_density(const M& p, const M& h, const M& s, double eps);

/// Throws NotEnoughMemory, saying how much eigenvectors of H and S take on the rank that computes them, unless that
/// and `besides` bytes are free here.
void require_dense_memory(std::int64_t orbitals, double besides = 0);

/// All eigenvalues of H c = e S c in ascending order and P with `occupied(e)` orbitals, by LAPACK, on a GPU by
/// cuSOLVER. `occupied` is given all eigenvalues and says how many count. On a grid rank 0 does all of it. Errors:
/// ErrorCode::numerical for an S that is not positive definite, ErrorCode::unsupported for memory that does not
/// suffice.
template <class M>
struct DenseDensity {
  std::vector<double> eigenvalues;
  M p;
};
using CountOccupied = std::function<std::int64_t(const std::vector<double>&)>;
DenseDensity<BlockMatrix<double>> dense_density(const BlockMatrix<double>& h, const BlockMatrix<double>& s,
                                                const CountOccupied& occupied, DenseFactor& kept);

}  // namespace quadrille::block_dft
