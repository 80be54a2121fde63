// Links of a rank's part against those of one process.
#pragma once

#include "core/field/host_field.h"
#include "core/layout/lattice.h"

#include <cstdint>
#include <cstring>

namespace quadrille::testing {

/// How many links of `part`, on `lattice`, are not those of the whole lattice, bit for bit.
inline std::int64_t differing_links(const HostLinks& part, const Lattice& lattice, const HostLinks& whole) {
  std::int64_t differing = 0;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const std::int64_t global = lattice.global_site(lattice.coordinates(site));
    for (int mu = 0; mu < 4; ++mu)
      differing += std::memcmp(part.link(site, mu), whole.link(global, mu), 9 * sizeof(Complex)) != 0;
  }
  return differing;
}

}  // namespace quadrille::testing
