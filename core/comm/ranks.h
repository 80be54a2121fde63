// The ranks of this program: the processes that MPI has started together.
//
// MPI lives in libquadrille_ranks.so beside libquadrille.so, which is loaded when MPI has started this process, so that
// a single process needs no MPI.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"

#include <memory>
#include <string>

namespace quadrille {

/// All ranks, as long as they run. Its end is that of MPI in this process.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Number of this rank among those of its host, and how many those are.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// Of a grid of size() ranks. Collective.
  virtual std::shared_ptr<const Communicator> communicator(const Dims& grid) const = 0;
  /// Waits until every rank calls it, at most so long (for ever when negative); false when they did not. To be called
  /// once, at the end.
  virtual bool meet_at_end(double seconds) = 0;
  /// Ends all ranks at once.
  [[noreturn]] virtual void abort(int status) = 0;
};

/// Whether a launcher of MPI has started this process, by the variables that launchers set.
QUADRILLE_API bool started_by_mpi();

/// The ranks that MPI started together with this process; null when it was started alone. Errors:
/// ErrorCode::unsupported when this Quadrille was built without MPI or its library cannot be loaded.
QUADRILLE_API std::unique_ptr<Ranks> join_ranks();

/// What libquadrille_ranks.so exports under the name quadrille_join_ranks; the caller owns the result.
using JoinRanks = Ranks* (*)();

}  // namespace quadrille
