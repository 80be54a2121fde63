// What the rest of Quadrille knows of other processes: a Cartesian grid of ranks and collective operations on it.
//
// One process is the grid 1 1 1 1, and there is no other yet: sums go through the lattice's communicator already, no
// operator exchanges halos.
#pragma once

#include "core/api.h"
#include "core/field/host_field.h"

#include <cstddef>
#include <memory>

namespace quadrille {

class QUADRILLE_API Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Processes along x, y, z, t.
  virtual const Dims& grid() const = 0;
  /// Place of this process in the grid.
  virtual const Dims& coordinates() const = 0;

  /// Replaces values[0..count) by their sums over all ranks, the same bits on every rank and in every run.
  virtual void sum(double* values, std::size_t count) const = 0;
  /// Replaces values[0..count) by their maxima over all ranks.
  virtual void maximum(double* values, std::size_t count) const = 0;
  /// Copies `bytes` bytes at `data` from rank `root` to all others.
  virtual void broadcast(void* data, std::size_t bytes, int root) const = 0;
  /// Sends `bytes` bytes to the neighbour one step along `direction` (0..3 forward x..t, 4..7 backward), and receives
  /// as many from the opposite neighbour.
  virtual void shift(int direction, const void* send, void* receive, std::size_t bytes) const = 0;
  virtual void barrier() const = 0;
};

/// The communicator of a job that runs in one process.
QUADRILLE_API std::shared_ptr<const Communicator> single_process();

}  // namespace quadrille
