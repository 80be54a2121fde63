// What the rest of Quadrille knows of other processes: a Cartesian grid of ranks, collective operations on it, and
// messages between neighbours. One process is the grid 1 1 1 1. Ranks of MPI: core/comm/ranks.h.
#pragma once

#include "core/api.h"
#include "core/dims.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrille {

class DeviceLinks;

/// Directions are 0..3 forward x..t, 4..7 backward.
constexpr int opposite_direction(int direction) { return (direction + 4) % 8; }

/// Bytes that go to the neighbour in `direction`; as many come from the opposite one. Where `send` is null nothing
/// goes, where `receive` is null nothing comes: this rank and that neighbour must agree.
struct Message {
  int direction;
  const void* send;
  void* receive;
  std::size_t bytes;
};

/// Bytes that go to any other rank, or come from it; `memory` is read, or written.
struct Piece {
  int rank;
  void* memory;
  std::size_t bytes;
};

/// Messages that are exchanged again and again between the same places in memory.
class Channel {
 public:
  virtual ~Channel() = default;
  /// What is to be sent must be there, and nobody may touch either side until finish() returns.
  virtual void start() = 0;
  /// Gives messages that are on their way a push: many an MPI moves long ones in its own calls only. By the thread that
  /// calls start() and finish(), in between.
  virtual void push() = 0;
  virtual void finish() = 0;
};

/// All members but those of one process' place are collective: every rank calls them in the same order.
class QUADRILLE_API Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Ranks along x, y, z, t.
  virtual const Dims& grid() const = 0;
  /// Place of this rank in the grid: rank = ((t Nz + z) Ny + y) Nx + x.
  virtual const Dims& coordinates() const = 0;

  bool splits(int mu) const { return grid()[std::size_t(mu)] > 1; }
  /// Whether this rank is the first (backward) or the last (forward) one in `direction`, as Message has it.
  bool at_edge(int direction) const {
    const std::size_t mu = std::size_t(direction % 4);
    return coordinates()[mu] == (direction < 4 ? grid()[mu] - 1 : 0);
  }

  /// The rank of the neighbour in `direction`; this one itself where the grid has one rank along it.
  int neighbour(int direction) const {
    Dims to = coordinates();
    const std::size_t mu = std::size_t(direction % 4);
    to[mu] = (to[mu] + (direction < 4 ? 1 : grid()[mu] - 1)) % grid()[mu];
    return ((to[3] * grid()[2] + to[2]) * grid()[1] + to[1]) * grid()[0] + to[0];
  }

  /// Replaces values[0..count) by their sums over all ranks, added in the order of ranks: the same bits on every rank
  /// and in every run on this grid. Carries signals (agreed_signal()).
  void sum(double* values, std::size_t count) const;
  /// Replaces values[0..count) by their maxima over all ranks; a not-a-number of any rank wins.
  void maximum(double* values, std::size_t count) const;
  /// all[rank * bytes ..) = what each rank has at `mine`.
  virtual void gather(const void* mine, std::size_t bytes, void* all) const = 0;
  /// Copies `bytes` bytes at `data` from rank `root` to all others.
  virtual void broadcast(void* data, std::size_t bytes, int root) const = 0;
  virtual void barrier() const = 0;
  /// The number that MPI's Fortran interface knows it by, for libraries that are linked with MPI; none of one process.
  virtual std::optional<int> fortran_number() const { return std::nullopt; }
  /// The memory that messages name outlives the channel.
  virtual std::unique_ptr<Channel> channel(std::vector<Message> messages) const = 0;
  /// Messages between any ranks: of two ranks the n-th piece that one sends the other, of as many bytes, is the n-th
  /// that the other receives from it; none goes to the rank itself. Not collective, but two ranks have one such channel
  /// under way at a time.
  virtual std::unique_ptr<Channel> channel(const std::vector<Piece>& send, const std::vector<Piece>& receive) const = 0;
  /// Exchanges once.
  void exchange(std::vector<Message> messages) const;
  /// Exchanges once what each rank has for each, of any length: gives what has come, by rank. No memory: fails on all.
  using Bytes = std::vector<char>;
  std::vector<Bytes> exchange(std::vector<Bytes> for_ranks) const;
  /// What moves data between the devices of ranks that have one each (core/comm/device_links.h): made when it is first
  /// needed, for all grids of the same ranks. Null, with the reason, where there is none.
  virtual std::shared_ptr<DeviceLinks> device_links(std::string& reason) const;

  /// Says that a signal (a positive number) has reached this rank, or that none has: 0. For signal handlers, too.
  void raise(int signal) const { raised_ = signal; }
  /// The largest signal that had reached any rank at the last sum(): the same on all.
  int agreed_signal() const { return size() == 1 ? raised_.load() : agreed_; }
  /// Nothing has been raised here, nor agreed on, so far; to be called on all ranks between the same sums.
  void forget_signals() const {
    raised_ = 0;
    agreed_ = 0;
  }
  /// Lets all ranks know of signals without a sum.
  void agree_on_signals() const { sum(nullptr, 0); }

 private:
  mutable std::atomic<int> raised_{0};
  mutable int agreed_ = 0;
  mutable std::vector<double> mine_, all_;  ///< of sums, kept
};

/// The communicator of a job that runs in one process.
QUADRILLE_API std::shared_ptr<const Communicator> single_process();

}  // namespace quadrille
