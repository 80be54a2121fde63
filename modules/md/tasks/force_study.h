// What a method makes of a system: its errors against double precision, its offset, its speed (Narumi et al., section
// 4).
#pragma once

#include "modules/md/pairs/forces.h"

#include <optional>

namespace quadrille::md {

struct ForceMeasurement {
  Method method;
  double error = 0;                          ///< equation 10: sum |F - F_G| / sum |F_G|
  std::optional<double> solute_error;        ///< the same over the solute
  double largest_error = 0;                  ///< max |F - F_G| / rms |F_G|
  double offset = 0;                         ///< equation 11: |sum F| / sum |F|, the sum in integers
  std::optional<double> accumulation;        ///< largest |sum - exact sum of the same terms| over its bound
  int large_shift = 0;                       ///< of E and F: LARGE = 1.5 x 2^large_shift, in units of the force
  double seconds = 0, pairs_per_second = 0;  ///< of a pass; the least
  double energy = 0;
  std::vector<double> forces;  ///< [particle][x, y, z]
};

struct ForceStudyOptions {
  ForceOptions forces;  ///< the method is not read
  std::vector<Method> methods;
  int repeats = 3;           ///< 0: no times
  bool accumulation = true;  ///< compare with exact sums, on the CPU
};

/// The sum of the forces by component: every force becomes a whole number of 2^-exponent of 128 bits.
std::array<double, 3> total_force(const ForceResult& result);

/// One row for each method. Errors are those of PairForces.
QUADRILLE_API std::vector<ForceMeasurement> measure_forces(const System& system, const ForceStudyOptions& options);

}  // namespace quadrille::md
