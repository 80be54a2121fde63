// Projected half spinors on their way between ranks, for hopping kernels on a CPU.
#pragma once

#include "core/comm/host_channel.h"
#include "core/layout/vector_layout.h"
#include "dirac/hop_kernel.h"
#include "dirac/kernel_table.h"

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille {

/// Ghost zones of one hopping term, in the layout of core/layout/vector_layout.h: of each hop d that leads to another
/// rank [block of the face][12][lane], in half precision with one norm per site, [block of the face][lane].
///
/// Communication goes on while the inner blocks are worked on: start(), run them, finish(), run the edge blocks.
class CpuHalo {
 public:
  explicit CpuHalo(const HopSetup& setup);

  /// Packs what other ranks need of `x` for a result of parity `p`, and sends it. Collective, as finish() is.
  void start(const Field& x, Parity p, Dagger dagger);
  void finish();

  /// Blocks of parity `p` all of whose neighbours are here, and the others.
  const std::vector<std::int32_t>& inner_blocks(Parity p) const { return inner_[std::size_t(p)]; }
  const std::vector<std::int32_t>& edge_blocks(Parity p) const { return edge_[std::size_t(p)]; }
  /// Sets what a kernel needs for the edge blocks of parity `p`.
  void describe(dirac::DslashArgs& args, Parity p) const;

 private:
  struct Face {
    int direction;                                     ///< of the hop
    std::array<std::vector<std::int32_t>, 2> to_pack;  ///< by parity of the result: blocks of the other parity
    std::size_t bytes;                                 ///< of the numbers, then the norms
    std::vector<std::uint8_t> from_here;  ///< [lane]: 1 where the neighbour is on this rank after all; empty: nowhere
    std::shared_ptr<void> packed;         ///< what is sent, kept for those lanes
  };

  void add_face(int direction);
  void list_blocks(Parity p);
  /// Where the norms begin in `memory` of a face.
  float* norms(const Face& face, void* memory) const;
  /// Lanes that are not at the rank's edge find their neighbours in what this rank has packed itself.
  template <class Number>
  void fill_inner_lanes(const Face& face, void* ghosts) const;

  HopSetup setup_;
  const VectorLayout& layout_;
  dirac::PackKernel pack_;
  std::size_t number_bytes_;
  std::vector<Face> faces_;
  std::array<std::vector<std::int32_t>, 2> inner_, edge_, neighbours_;  ///< by parity of the result
  std::array<std::vector<std::uint8_t>, 2> outside_;
  std::unique_ptr<HostChannel> channel_;  ///< message k is that of face k
};

}  // namespace quadrille
