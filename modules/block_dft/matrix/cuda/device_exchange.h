// Numbers on their way between the devices of a grid's ranks.
//
// Each rank has a window: memory of its device that others may write to. Ranks of one host that reach each other's
// memory (CUDA IPC) copy into it from device to device ("peer"); between others MPI carries pieces from pinned memory
// to pinned memory ("pinned"). Either way copy engines move the numbers, on streams of their own, so that kernels which
// hold all multiprocessors do not stop them. NCCL is not used here: its copies are kernels, and would wait for those.
#pragma once

#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/owned.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace quadrille::block_dft {

/// Bytes of this device's memory that go to byte `to` of a rank's window.
struct SentPiece {
  int rank;
  const void* from;
  std::int64_t bytes, to;
};
/// Bytes that come to byte `at` of this rank's.
struct ReceivedPiece {
  int rank;
  std::int64_t bytes, at;
};

/// What all ranks call in the same order.
class DeviceExchange {
 public:
  /// That of a grid, made on first use. QUADRILLE_TRANSPORT counts as for the channels of the backend:
  /// "pinned" forbids peers, "peer" demands them. Errors: ErrorCode::unsupported, ErrorCode::invalid_input.
  static DeviceExchange& of(const MatrixGrid& grid);
  ~DeviceExchange();
  DeviceExchange(const DeviceExchange&) = delete;
  DeviceExchange& operator=(const DeviceExchange&) = delete;

  /// Makes this rank's window at least as large; each says what it needs. What was in it is lost where it grows. It
  /// stays for later exchanges until release(): to make one and to open it on all ranks takes as long as a small
  /// product. Errors: NotEnoughMemory on all ranks where one has not the memory; no rank has a window then.
  void reserve(std::int64_t bytes);
  /// Gives the memory of all windows back. Nothing may use them.
  void release();
  /// Whether any rank has a window.
  bool has_windows() const;
  std::byte* window() const { return window_; }
  /// What of this rank's device windows may take: a share of all that it has, not of what happens to be free, so that
  /// panels are cut, and their sums rounded, alike in every run.
  double most_bytes() const;
  /// Moves pieces, and returns when those that are received have come. What is sent must be there, and nothing that the
  /// device still has queued may use the places of the window. Of two ranks the n-th piece that one sends is
  /// the n-th that the other receives from it, of as many bytes; a rank may send to itself. What fails on this device
  /// stops no other rank: rethrow() throws it, in the next step that all ranks agree on (every_rank.h).
  void run(const std::vector<SentPiece>& sent, const std::vector<ReceivedPiece>& received);
  void rethrow() { error_.rethrow(); }

 private:
  explicit DeviceExchange(const MatrixGrid& grid);
  struct Pinned;
  bool reaches(int from, int to) const {
    return reach_[std::size_t(from) * std::size_t(ranks_.size()) + std::size_t(to)];
  }
  void find_reach();
  void close();
  std::int64_t make_window(std::int64_t needed, std::int64_t wanted);
  void signal(const std::set<int>& to, const std::set<int>& from) const;
  void carry(const SentPiece* sent, const ReceivedPiece* received);
  void carry_all(const std::vector<SentPiece>& sent, const std::vector<ReceivedPiece>& received);

  const Communicator& ranks_;
  std::vector<cuda::DevicePlace> places_;  ///< [rank]
  std::string wanted_;                     ///< transport
  int sharing_ = 1;                        ///< ranks, this one included, whose device is the same
  std::vector<std::int64_t> sizes_;        ///< [rank]: of windows
  std::byte* window_ = nullptr;
  std::vector<std::byte*> theirs_;  ///< [rank]: their windows here; null: not reached
  std::vector<char> reach_;         ///< [from][to]
  cuda::OwnedStream leaving_, coming_;
  std::unique_ptr<Pinned> pinned_;  ///< where some pair of ranks is not reached
  KeptError error_;                 ///< of run()
};

}  // namespace quadrille::block_dft
