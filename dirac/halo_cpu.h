// Projected half spinors on their way between ranks, for hopping kernels on a CPU.
#pragma once

#include "core/comm/host_channel.h"
#include "core/layout/vector_layout.h"
#include "dirac/hop_kernel.h"
#include "dirac/kernel_table.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace quadrille {

/// Ghost zones of one hopping term, in the layout of core/layout/vector_layout.h: of each hop d that leads to another
/// rank [block of the face][12][lane], in half precision with one norm per site, [block of the face][lane].
///
/// Communication goes on while the inner blocks are worked on: start(), run them, finish(), run the edge blocks.
class CpuHalo {
 public:
  explicit CpuHalo(const HopSetup& setup);

  /// Packs what other ranks need of every x of a list, and sends it: one message a face. Collective, as finish() is;
  /// the first list of a length makes its messages.
  void start(const HopCall& call);
  void finish();

  /// Blocks of parity `p` all of whose neighbours are here, and the others.
  const std::vector<std::int32_t>& inner_blocks(Parity p) const { return inner_[std::size_t(p)]; }
  const std::vector<std::int32_t>& edge_blocks(Parity p) const { return edge_[std::size_t(p)]; }
  /// Sets what a kernel needs for the edge blocks of parity `p`, of the list that came last.
  void describe(dirac::DslashArgs& args, std::span<dirac::DslashFields> fields, Parity p) const;

 private:
  struct Face {
    int direction;                                     ///< of the hop
    std::array<std::vector<std::int32_t>, 2> to_pack;  ///< by parity of the result: blocks of the other parity
    std::size_t bytes;                                 ///< of a call: the numbers, then the norms
    std::vector<std::uint8_t> from_here;  ///< [lane]: 1 where the neighbour is on this rank after all; empty: nowhere
  };
  /// For lists of one length; message k is that of face k, its calls one after the other.
  struct Exchange {
    std::unique_ptr<HostChannel> channel;
    std::vector<std::shared_ptr<void>> packed;  ///< by face: what is sent, kept for lanes from here; null: none are
  };

  void add_face(int direction);
  void list_blocks(Parity p);
  Exchange& exchange_for(std::size_t calls);
  /// Where the norms begin in `memory` of a face.
  float* norms(const Face& face, const void* memory) const;
  /// Lanes that are not at the rank's edge find their neighbours in what this rank has packed itself.
  template <class Number>
  void fill_inner_lanes(const Face& face, void* ghosts, const void* packed) const;

  HopSetup setup_;
  const VectorLayout& layout_;
  dirac::PackKernel pack_;
  std::size_t number_bytes_;
  std::vector<Face> faces_;
  std::array<std::vector<std::int32_t>, 2> inner_, edge_, neighbours_;  ///< by parity of the result
  std::array<std::vector<std::uint8_t>, 2> outside_;
  std::vector<Exchange> exchanges_;  ///< by the length of the list
  std::size_t calls_ = 0;            ///< of the list that came last
};

}  // namespace quadrille
