// The steps by ELPA, which are ScaLAPACK's but for the standard problem: ELPA's own Cholesky factorization does not
// say which minor is not positive.
#pragma once

#ifdef QUADRILLE_HAVE_ELPA
#include "modules/eigen/ranks/mpi/scalapack_steps.h"

namespace quadrille::eigen {

/// Once for a process. Errors: ErrorCode::unsupported for a library older than its headers.
void begin_elpa();

template <class T>
class ElpaSteps final : public ScalapackSteps<T> {
 public:
  /// Errors: ErrorCode::unsupported for a grid of which some rank has nothing.
  ElpaSteps(const Communicator& ranks, const Layout& layout);
  double work_bytes(bool vectors) const override;
  StandardSolution solve(const StandardProblem<T>& problem) override;
};

}  // namespace quadrille::eigen
#endif
