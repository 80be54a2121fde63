// Links that other ranks update, around the links of this rank's part: for updates on a CPU.
#pragma once

#include "core/comm/communicator.h"
#include "core/field/field.h"
#include "core/layout/vector_layout.h"
#include "modules/quenched/updates/kernels.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille::quenched {

/// Ghost blocks for each place where staples and plaquettes of this rank's sites leave its part: beyond its faces, and
/// beyond a face forward and another one backward (the link in nu at x + mu - nu).
///
/// A ghost has the lanes of the block that the same shifts find where the torus closes on this rank, so that a kernel
/// reads it, and rotates lanes, as on one rank. Of each direction d that is divided there is a row of them: those
/// beyond the face, and behind those, where d is forward, the corners. A corner is read for links of one direction
/// only, that of its second shift, and lies among the ghosts of that direction: corners of one d share their numbers.
class LinkHalo {
 public:
  /// Of links that outlive this, in double or single precision. Collective, as what is said so below.
  explicit LinkHalo(const Field& links);

  /// Sets what kernels need to find ghosts; as long as this lives.
  void describe(LinkSites& sites) const;
  /// Blocks of a parity that find links of other ranks or have links for them, and the others.
  const std::vector<std::int32_t>& edge_blocks(int parity) const { return edge_[std::size_t(parity)]; }
  const std::vector<std::int32_t>& inner_blocks(int parity) const { return inner_[std::size_t(parity)]; }

  /// Brings the ghosts of links of one direction and parity up to date, in two steps: what lies beyond the backward
  /// face of that direction comes first, since neighbours send corners of it on. Inner blocks may be worked on before
  /// next_step() and before finish(). Collective.
  void start(int mu, int parity);
  void next_step();
  void finish();
  /// The same of all links. Collective.
  void exchange_all();

 private:
  /// Ghosts that the shift in `direction` leads to.
  struct Row {
    int direction;
    std::int64_t first;                 ///< its first ghost
    std::array<std::int64_t, 4> count;  ///< ghosts of links in mu: with the corners of mu
    /// By direction and parity of the links: for each ghost the block that the neighbour backward sends, by its number.
    std::array<std::array<std::vector<std::int32_t>, 2>, 4> sources;
    std::vector<std::uint8_t> from_here;  ///< [lane]: 1 where the neighbour is on this rank after all; empty: nowhere
    std::shared_ptr<void> send;
  };
  /// Rows that are exchanged at once.
  struct Step {
    std::vector<const Row*> rows;
    std::unique_ptr<Channel> channel;  ///< null without rows
  };

  bool splits(int d) const { return lattice_.communicator().splits(d % 4); }
  bool leaves(int parity, std::int64_t block, int d) const {
    return splits(d) && (layout_.wraps(Parity(parity))[std::size_t(block)] >> d & 1u) != 0;
  }
  void add_row(int d);
  void connect_face(Row& row, int parity);
  void connect_beyond(Row& row, int parity);
  void list_blocks(int parity);
  void plan(int mu, int parity);
  /// The links in mu of a block or a ghost, and of a ghost by its number among those.
  const std::byte* link(int mu, int parity, std::int64_t block) const;
  std::byte* ghost(int mu, int parity, std::int64_t number) const;
  void send(const Step& step, int mu, int parity) const;
  void receive(const Step& step, int mu, int parity) const;
  template <class T>
  void fill_inner_lanes(const Row& row, int mu, int parity) const;

  const Field& links_;
  const Lattice& lattice_;
  const VectorLayout& layout_;
  std::size_t link_bytes_;  ///< of a block
  std::int64_t ghost_count_ = 0;
  std::vector<Row> rows_;
  std::array<std::vector<std::int32_t>, 2> neighbours_, edge_, inner_;  ///< by parity
  std::array<std::vector<std::uint8_t>, 2> wraps_;
  std::array<std::shared_ptr<void>, 2> ghosts_;
  std::array<std::array<std::array<Step, 2>, 2>, 4> steps_;  ///< by direction and parity of the links
  int mu_ = 0, parity_ = 0;                                  ///< of the links on their way
};

}  // namespace quadrille::quenched
