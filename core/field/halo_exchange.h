// Halo exchange on a CPU: the sites of other ranks around a rank's part of a field of any site format.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"
#include "core/field/field.h"
#include "core/layout/vector_layout.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille {

/// What is read of a section of the sites (core/field/site_format.h) beyond the faces of a rank's part. Directions:
/// 0..3 forward x..t, 4..7 backward.
struct SectionHalo {
  std::uint8_t faces = 0xff;  ///< bit d: of the sites that a shift in direction d finds
  /// nu: also of those that a shift forward, then one backward in nu find; `faces` must have the backward face of nu
  /// and every forward face whose corners are read. -1: no others.
  int corners = -1;
};

/// Ghost blocks for each place where shifts from this rank's sites leave its part: beyond its faces, and beyond a face
/// forward and another one backward. Depth 1.
///
/// A ghost has the lanes of the block that the same shifts find where the torus closes on this rank, so that a kernel
/// reads it, and rotates lanes, as on one rank. Of each direction d that is divided there is a row of them: those
/// beyond the face, and behind those, where d is forward, the corners. A section has the corners of one direction at
/// most: corners of one d share their numbers.
class QUADRILLE_API HaloExchange {
 public:
  /// Of a full field in the vector layout that outlives this, with what is read of each section. Norms, where the
  /// format has them, are one section more, behind the others: all its faces are read, and the corners that are read
  /// of the numbers, all in one direction then. Fills all ghosts. Collective, as what is said so below.
  /// ErrorCode::internal for another field, another number of sections, or sections that contradict this.
  HaloExchange(const Field& field, const std::vector<SectionHalo>& sections);

  /// [block][direction 0..7] of a parity: as VectorLayout::neighbours(), but blocks from VectorLayout::blocks() on are
  /// ghosts.
  const std::int32_t* neighbours(Parity p) const { return neighbours_[std::size_t(p)].data(); }
  /// As VectorLayout::wraps(), of ghosts too.
  const std::uint8_t* wraps(Parity p) const { return wraps_[std::size_t(p)].data(); }
  /// Of a parity.
  std::int64_t ghost_count() const { return ghost_count_; }
  /// [ghost][number][lane] of a section of a parity; sections follow each other.
  const void* ghosts(Parity p, int section = 0) const { return ghost(section, int(p), 0); }
  /// Blocks of a parity that find sites of other ranks or have sites for them, and the others.
  const std::vector<std::int32_t>& edge_blocks(Parity p) const { return edge_[std::size_t(p)]; }
  const std::vector<std::int32_t>& inner_blocks(Parity p) const { return inner_[std::size_t(p)]; }

  /// Brings the ghosts of a section and parity up to date, in two steps: what lies beyond the backward face of the
  /// section's corners comes first, since neighbours send corners of it on. Inner blocks may be worked on before
  /// next_step() and before finish(). Collective.
  void start(int section, Parity p);
  void next_step();
  void finish();
  /// The same of all sections and parities. Collective.
  void exchange_all();

 private:
  using ByParity = std::array<std::vector<std::int32_t>, 2>;
  /// Ghosts that the shift in `direction` leads to.
  struct Row {
    int direction;
    std::int64_t first;                ///< its first ghost
    std::vector<std::int64_t> count;   ///< by section: ghosts that are read, with its corners
    std::vector<ByParity> sources;     ///< by section: for each ghost the block that the neighbour sends
    std::vector<std::uint8_t> inside;  ///< [lane]: 1 where the neighbour is on this rank after all; empty: nowhere
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
  void list_blocks(int parity);
  void add_row(int d);
  void connect_face(Row& row, int parity);
  void connect_beyond(Row& row, int parity);
  void plan(int section, int parity);
  /// The numbers of a section of a block or a ghost, and of a ghost by its number among those.
  const std::byte* block(int section, int parity, std::int64_t number) const;
  std::byte* ghost(int section, int parity, std::int64_t number) const;
  bool is_norms(int section) const { return section == field_.desc().site.sections; }
  void send(const Step& step) const;
  void receive(const Step& step) const;
  void fill_inner_lanes(const Row& row) const;

  const Field& field_;
  const Lattice& lattice_;
  const VectorLayout& layout_;
  std::vector<SectionHalo> sections_;  ///< with the norms
  std::vector<std::size_t> bytes_;     ///< of a block, by section
  std::int64_t ghost_count_ = 0;
  std::vector<Row> rows_;
  ByParity neighbours_, edge_, inner_;
  std::array<std::vector<std::uint8_t>, 2> wraps_;
  std::array<std::shared_ptr<void>, 2> ghosts_;
  std::vector<std::array<std::array<Step, 2>, 2>> steps_;  ///< by section and parity
  int section_ = 0, parity_ = 0;                           ///< on its way
};

}  // namespace quadrille
