// Links of a field in the vector layout for kernels that read them around a block.
#pragma once

#include "core/api.h"
#include "core/field/halo_exchange.h"
#include "core/gauge/around/link_blocks.h"
#include "core/simd/isa.h"

#include <array>
#include <cstdint>
#include <vector>

namespace quadrille {

/// What staples read of links beyond a rank's faces: those in mu at x + nu, x - nu and x + nu - mu.
QUADRILLE_API std::vector<SectionHalo> staple_halo();

/// The instruction set whose kernels work on links in the vector layout: the one in use, whatever the lanes (such
/// kernels take few in every one), so that neither the bits of links nor the name of the instruction set in the states
/// of tasks depend on how a lattice is divided; a wider one for links in its lanes.
QUADRILLE_API Isa isa_of_links(const FieldDesc& links);

/// LinkBlocks of a field, and the tables that they point to.
class QUADRILLE_API LinkBlockTables {
 public:
  /// Of a site's four forward links in the vector layout and, on several ranks, their halo: both outlive this.
  LinkBlockTables(Field& links, const HaloExchange* halo);
  LinkBlockTables(const LinkBlockTables&) = delete;
  LinkBlockTables& operator=(const LinkBlockTables&) = delete;

  const LinkBlocks& blocks() const { return blocks_; }

 private:
  void tabulate_rotations(const Field& links);
  void tabulate_sites(const Field& links);

  LinkBlocks blocks_{};
  std::vector<std::int64_t> rotations_;
  std::array<std::vector<std::int64_t>, 2> global_sites_;
};

}  // namespace quadrille
