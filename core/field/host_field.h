// Fields as files and users see them: plain double-precision arrays in lexicographic site order.
//
// Sites run x fastest, t slowest, over the local lattice of this process. Every 4-vector is x, y, z, t.
// Spins are in the DeGrand-Rossi basis (see core/field/spin_basis.h).
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille {

using Complex = std::complex<double>;
using Dims = std::array<int, 4>;  ///< x, y, z, t

constexpr std::int64_t volume(const Dims& dims) { return std::int64_t(dims[0]) * dims[1] * dims[2] * dims[3]; }

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
