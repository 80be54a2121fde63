// Messages between neighbouring ranks on CPUs, exchanged again and again.
//
// A rank writes a message where outgoing() says: in the memory of a neighbour on the same host, which both map, or
// elsewhere in its own, from which MPI carries it on. MPI also says when what is written is complete.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace quadrille {

/// `bytes` bytes to the neighbour in `direction`; as many come from the opposite one.
struct HostMessage {
  int direction;
  std::size_t bytes;
};

/// Each message has two places that take turns: while one is read by its receiver, its sender already writes to the
/// other one. A rank calls start() when it has read all of the exchange before.
class QUADRILLE_API HostChannel {
 public:
  /// All ranks give the same messages; of messages to one direction there is also one to the opposite. Collective. The
  /// environment variable QUADRILLE_TRANSPORT=messages leaves all to MPI. Errors: std::bad_alloc; those of
  /// named_transport() (transport_name.h).
  HostChannel(const Communicator& communicator, const std::vector<HostMessage>& messages);
  ~HostChannel();
  HostChannel(const HostChannel&) = delete;
  HostChannel& operator=(const HostChannel&) = delete;

  /// Where message k of the next exchange is to be written before start(); aligned to a cache line.
  void* outgoing(std::size_t k) const { return boxes_[k].out[turn_]; }
  void start();
  void finish();
  /// Where message k of the exchange that has finished last has come to; until the next start(). What is written there
  /// stays until then, too.
  void* incoming(std::size_t k) const { return boxes_[k].in[1 - turn_]; }
  /// How many of the messages go through memory that both ranks map.
  int shared() const;

 private:
  class Memory;
  struct Box {
    std::array<std::byte*, 2> out{}, in{};
    bool mapped = false;  ///< out is the neighbour's memory
  };

  void map_neighbours(const Communicator& communicator, const std::vector<HostMessage>& messages);
  void connect(const Communicator& communicator, const std::vector<HostMessage>& messages);

  std::vector<Box> boxes_;
  std::vector<std::unique_ptr<Memory>> memories_;  ///< the first: what comes to this rank
  std::vector<std::size_t> places_;                ///< of each message in its receiver's memory, then the bytes of all
  std::array<std::unique_ptr<Channel>, 2> channels_;
  const char said_ = 1;  ///< content of messages that only say that a shared one is complete
  std::vector<char> heard_;
  std::size_t turn_ = 0;
};

}  // namespace quadrille
