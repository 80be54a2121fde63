// Gluonic observables of links in double precision, as read: plaquettes, link trace, distance from SU(3); computed by
// GaugeStore (core/gauge/gauge_store.h).
//
// Sums do not depend on their order (core/numbers/exact_sum.h), so every number is the same for any number of threads
// and on any grid of ranks. Boundary conditions of fermions play no part here: the lattice is periodic.
#pragma once

#include "core/api.h"
#include "core/dims.h"

#include <array>
#include <cstdint>
#include <string>

namespace quadrille {

/// How far links are from SU(3), and where it is worst (the first such site of the whole lattice in lexicographic
/// order).
struct Unitarity {
  double unitarity = 0;  ///< largest |element| of U U^+ - 1; NaN when a link is not finite
  std::int64_t unitarity_site = 0;
  int unitarity_direction = 0;
  double determinant = 0;  ///< largest |det U - 1|
  std::int64_t determinant_site = 0;
  int determinant_direction = 0;
};

struct GaugeObservables {
  double plaquette = 0;            ///< Re tr U_p / 3, average over sites and planes
  std::array<double, 6> planes{};  ///< the same for each plane, in the order of plane_names
  double link_trace = 0;           ///< Re tr U / 3, average over sites and directions
  Unitarity unitarity;
};

/// Planes mu < nu, in the order x, y, z, t.
inline constexpr std::array<const char*, 6> plane_names{"xy", "xz", "xt", "yz", "yt", "zt"};

/// Coordinates of a lexicographic site index.
QUADRILLE_API Dims site_coordinates(const Dims& dims, std::int64_t site);
/// "site (1,2,3,0), direction y".
QUADRILLE_API std::string link_name(const Dims& dims, std::int64_t site, int direction);

}  // namespace quadrille
