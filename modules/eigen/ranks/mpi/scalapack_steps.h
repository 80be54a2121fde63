// The steps by ScaLAPACK. Those of ELPA differ in solve() alone.
#pragma once

#include "core/comm/communicator.h"
#include "modules/eigen/ranks/library.h"
#include "modules/eigen/ranks/mpi/scalapack.h"

#include <functional>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// The ranks of a layout as MPI and BLACS know them; other ranks have none of it.
class RankGrid {
 public:
  /// Collective over `ranks`, which outlives this.
  RankGrid(const Communicator& ranks, const Layout& layout);
  ~RankGrid();
  RankGrid(const RankGrid&) = delete;
  RankGrid& operator=(const RankGrid&) = delete;

  const Communicator& ranks() const { return ranks_; }
  const Layout& layout() const { return layout_; }
  bool here() const { return comm_ != MPI_COMM_NULL; }
  MPI_Comm comm() const { return comm_; }
  const int* descriptor() const { return descriptor_.data(); }
  const int& context() const { return context_; }
  const int& leading() const { return descriptor_.back(); }

  /// Calls step() on the ranks of the grid, after prepare(), which may fail for lack of memory, on all of them. Gives
  /// on all ranks what step() gives there: of several numbers the first that is not 0.
  int run(const std::function<void()>& prepare, const std::function<int()>& step) const;
  /// The same for a number that says what is wrong: 0, or ErrorCode::numerical where it is positive, else internal.
  void demand(const char* routine, const std::function<void()>& prepare, const std::function<int()>& step) const;

 private:
  const Communicator& ranks_;
  Layout layout_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int handle_ = -1, context_ = -1;
  Descriptor descriptor_{};
};

/// The diagonal d of a symmetric tridiagonal matrix, beside it e of n entries, becomes its eigenvalues, q this rank's
/// part of the vectors, by implicit QR as in pdsyev: each rank rotates whole rows. About 6 n^3 flops on all of them
/// together; slower than divide and conquer, and sure. Collective. Errors: ErrorCode::numerical where it does not
/// converge.
void rotate_to_diagonal(const RankGrid& grid, std::vector<double>& d, std::vector<double>& e, double* q);

template <class T>
class ScalapackSteps : public SpreadSteps<T> {
 public:
  ScalapackSteps(const Communicator& ranks, const Layout& layout) : grid_(ranks, layout) {}

  double work_bytes(bool vectors) const override;
  void transpose(T* a) override;
  std::int64_t cholesky(T* b) override;
  void to_standard(T* a, const T* l) override;
  StandardSolution solve(const StandardProblem<T>& problem) override;
  void back_to_general(const T* l, T* x, IndexRange columns) override;
  void multiply_hermitian(const T* a, const T* x, IndexRange columns, T* y) override;
  void multiply_adjoint(const T* x, const T* y, IndexRange columns, T* g) override;

 protected:
  RankGrid grid_;

 private:
  /// A := the reflectors that make it tridiagonal.
  struct Tridiagonal {
    std::vector<double> diagonal, off_diagonal;  ///< whole, on all ranks; the latter has n entries
    std::vector<T> tau;
  };
  Tridiagonal reduce(T* a);
  /// The diagonal becomes the eigenvalues; by which method.
  const char* find_values(Tridiagonal& t);
  /// The same, and Z the vectors; runs the phases that do it.
  const char* find_vectors(Tridiagonal& t, T* z, const RunPhase& run);
  /// The same in real numbers, as pdstedc has it. Whether its values are right: see sturm.h.
  bool divide(Tridiagonal& t, double* q);
  void apply_q(const T* a, const std::vector<T>& tau, T* z, IndexRange columns);
};

}  // namespace quadrille::eigen
