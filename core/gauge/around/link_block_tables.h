// Links of a field in the vector layout for kernels that read them around a block.
#pragma once

#include "core/api.h"
#include "core/gauge/around/link_blocks.h"

#include <array>
#include <cstdint>
#include <vector>

namespace quadrille {

class Field;
class HaloExchange;

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
