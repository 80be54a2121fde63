// The ranks of this program: the processes that MPI has started together, or those of a host's communicator.
//
// MPI lives in libquadrille_ranks.so beside libquadrille.so, which is loaded when MPI has started this process or a
// host gives a communicator, so that a single process needs no MPI.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"

#include <memory>
#include <string>

namespace quadrille {

/// All ranks, as long as they run. The end of what join_ranks() gave is that of MPI in this process, if MPI was begun
/// there.
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
  /// Waits until every rank calls it, at most `seconds` (for ever when negative); false when they did not. To be called
  /// once, at the end.
  virtual bool sync_at_end(double seconds) = 0;
  /// Ends at once all processes that MPI started together, those outside a host's communicator too.
  [[noreturn]] virtual void abort(int status) = 0;
  /// The same ranks with new numbers: `number` in [0, size()), a different one on each. Collective; not to be used
  /// after the end of MPI.
  virtual std::unique_ptr<Ranks> numbered(int number) const = 0;
  /// Whether MPI has been ended in this process.
  virtual bool mpi_has_ended() const = 0;
  /// Why the calling thread may not use MPI now, a sentence; empty when it may.
  virtual std::string obstacle() const = 0;
};

/// Whether a launcher of MPI has started this process, by the variables that launchers set.
QUADRILLE_API bool started_by_mpi();

/// The ranks that MPI started together with this process; null when it was started alone. Errors, with several ranks:
/// ErrorCode::unsupported when this Quadrille was built without MPI or its library cannot be loaded.
QUADRILLE_API std::unique_ptr<Ranks> join_ranks();

/// A communicator of MPI as a host has it: the address of an MPI_Comm, or, if that is null, Fortran's number.
struct HostCommunicator {
  const void* address = nullptr;
  int fortran = 0;
};

/// The ranks of a host, which has begun MPI and will end it; they work in a copy of its communicator. Collective over
/// that. Errors: ErrorCode::unsupported when this Quadrille has no ranks, as join_ranks(), or those of another MPI;
/// ErrorCode::invalid_input for a communicator that is none, or when MPI does not run.
QUADRILLE_API std::unique_ptr<Ranks> ranks_of(const HostCommunicator& host);

/// The function `name` of a library beside libquadrille.so that is linked with MPI, or null with the reason. The
/// library exports its build under the name `build`, which must be this one's, as objects in C++ pass between the two.
/// `install`: what would help where it is not there.
QUADRILLE_API void* function_beside(const std::string& library, const char* build, const char* name,
                                    const std::string& install, std::string& reason);

/// What libquadrille_ranks.so exports under the names quadrille_join_ranks and quadrille_ranks_of; the caller owns the
/// result.
using JoinRanks = Ranks* (*)();
using RanksOf = Ranks* (*)(const HostCommunicator&);

}  // namespace quadrille
