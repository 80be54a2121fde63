// What ScaLAPACK and ELPA do to matrices on ranks.
//
// Both are linked with MPI, and so live in libquadrille_eigen_ranks.so beside libquadrille.so, which is loaded when
// ranks have an eigenproblem.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/layout.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// Runs a phase of this name and number of flops.
using RunPhase = std::function<void(const char* name, double flops, const std::function<void()>& work)>;

/// A x = lambda x. Matrices are the parts of this rank.
template <class T>
struct StandardProblem {
  T* a = nullptr;         ///< its lower triangle counts; overwritten
  T* z = nullptr;         ///< n x n, becomes the vectors, each in the column of its number; null: values only
  std::int64_t most = 0;  ///< no vector of a higher number is wanted
  /// Says which pairs are wanted of all eigenvalues. What it throws ends the solution on all ranks.
  std::function<IndexRange(const std::vector<double>&)> choose;
  RunPhase run;
};

struct StandardSolution {
  std::vector<double> values;  ///< all of them, in rising order, on all ranks
  IndexRange range;            ///< those whose vectors there are
  std::string form;            ///< what solved the tridiagonal problem, in words
};

/// Products that a check takes, of matrices on ranks given by the parts of this rank.
template <class T>
class SpreadProducts {
 public:
  virtual ~SpreadProducts() = default;
  /// Y := A X for these columns of X and Y; of A the lower triangle counts.
  virtual void multiply_hermitian(const T* a, const T* x, IndexRange columns, T* y) = 0;
  /// G := X^H Y of these columns of X and Y; G begins at its own first row and column.
  virtual void multiply_adjoint(const T* x, const T* y, IndexRange columns, T* g) = 0;
};

/// Steps with n x n matrices of one layout, given by the parts of this rank, of Hermitian ones the lower triangles.
/// Collective: all ranks call them, those without a part, too. Errors are the same on all of them: ErrorCode::numerical
/// where the library finds no solution, ErrorCode::internal; all_or_none() where memory is short.
template <class T>
class SpreadSteps : public SpreadProducts<T> {
 public:
  /// Bytes that solve() takes besides the matrices, on the rank that takes most.
  virtual double work_bytes(bool vectors) const = 0;
  /// A := A^H, of a whole matrix: what was the upper triangle of a Hermitian one is then the lower one.
  virtual void transpose(T* a) = 0;
  /// B := L; the number of the first leading minor that is not positive, 0 for none.
  virtual std::int64_t cholesky(T* b) = 0;
  /// A := L^-1 A L^-H
  virtual void to_standard(T* a, const T* l) = 0;
  virtual StandardSolution solve(const StandardProblem<T>& problem) = 0;
  /// X := L^-H X for these columns of X.
  virtual void back_to_general(const T* l, T* x, IndexRange columns) = 0;
};

/// A library on the ranks of a communicator.
class SpreadLibrary {
 public:
  virtual ~SpreadLibrary() = default;
  /// "ELPA", "ScaLAPACK".
  virtual std::string name() const = 0;
  /// Ranks on the host of this one, which share its memory.
  virtual int ranks_of_host() const = 0;
  /// Collective. Errors: ErrorCode::unsupported for matrices of which a rank has more than the library can count.
  virtual std::unique_ptr<SpreadSteps<double>> real_steps(const Layout& layout) const = 0;
  virtual std::unique_ptr<SpreadSteps<std::complex<double>>> complex_steps(const Layout& layout) const = 0;

  template <class T>
  std::unique_ptr<SpreadSteps<T>> steps(const Layout& layout) const {
    if constexpr (is_complex<T>) {
      return complex_steps(layout);
    } else {
      return real_steps(layout);
    }
  }
};

/// Throws NotEnoughMemory on all ranks unless every host has memory for its ranks, of which this one's has `of_host`;
/// each takes `bytes` for `what`. Collective.
void require_memory_of_ranks(const Communicator& ranks, int of_host, double bytes, const std::string& what);

/// Loads libquadrille_eigen_ranks.so. `name`: elpa, scalapack, or auto: ELPA where this Quadrille is built with it.
/// Collective. Errors, on all ranks: ErrorCode::unsupported, saying what to install, where it is built without, and for
/// ranks that are not MPI's.
std::unique_ptr<SpreadLibrary> load_spread_library(const Communicator& ranks, const std::string& name);

/// What libquadrille_eigen_ranks.so exports under the name quadrille_eigen_spread_library; the caller owns the result,
/// which must not outlive `ranks`.
using MakeSpreadLibrary = SpreadLibrary* (*)(const Communicator& ranks, const char* name);

}  // namespace quadrille::eigen
