#include "core/gauge/observables.h"

#include <fmt/format.h>

namespace quadrille {

Dims site_coordinates(const Dims& dims, std::int64_t site) {
  Dims x{};
  for (std::size_t mu = 0; mu < 4; ++mu) {
    x[mu] = int(site % dims[mu]);
    site /= dims[mu];
  }
  return x;
}

std::string link_name(const Dims& dims, std::int64_t site, int direction) {
  const Dims x = site_coordinates(dims, site);
  return fmt::format("site ({},{},{},{}), direction {}", x[0], x[1], x[2], x[3], "xyzt"[direction]);
}

}  // namespace quadrille
