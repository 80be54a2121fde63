// Fields as files and users see them: plain double-precision arrays in lexicographic site order.
//
// Sites run x fastest, t slowest, over the local lattice of this process. Every 4-vector is x, y, z, t.
// Spins are in the DeGrand-Rossi basis (see core/field/spin_basis.h).
#pragma once

#include "core/dims.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille {

/// Links U_mu(x): data[((site * 4 + mu) * 3 + row) * 3 + column].
struct HostLinks {
  Dims dims{};
  std::vector<Complex> data;

  HostLinks() = default;
  explicit HostLinks(const Dims& d) : dims(d), data(std::size_t(volume(d)) * 36) {}
  Complex* link(std::int64_t site, int mu) { return data.data() + (site * 4 + mu) * 9; }
  const Complex* link(std::int64_t site, int mu) const { return data.data() + (site * 4 + mu) * 9; }
};

/// A spinor field: data[(site * 4 + spin) * 3 + color].
struct HostSpinor {
  Dims dims{};
  std::vector<Complex> data;

  HostSpinor() = default;
  explicit HostSpinor(const Dims& d) : dims(d), data(std::size_t(volume(d)) * 12) {}
};

}  // namespace quadrille
