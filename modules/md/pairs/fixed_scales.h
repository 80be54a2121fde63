// The powers of two that fixed point scales forces and energies by, from the largest terms that passes meet.
#pragma once

#include "modules/md/pairs/pair_tables.h"

namespace quadrille::md {

/// What a pass has met, scaled: the largest |force / distance| and energy or virial of a pair.
struct PassWatch {
  float ratio = 0, energy = 0;
  std::uint8_t strayed = 0;  ///< bit 0: a force sum has left its range, bit 1: another
  std::int32_t who = -1;     ///< a particle whose sum has
};

class FixedScales {
 public:
  /// Whether the pass is to be repeated, with other exponents: nothing was known before it, or a term or a sum was too
  /// large. `constant_force`: what a shifted force adds to that of any pair, at most. Errors: ErrorCode::numerical,
  /// naming the particle, where no scale can hold a sum.
  bool fit(const PassWatch& watch, Method method, const System& system, const ForceOptions& options,
           double constant_force = 0);

  /// What a pass may meet without another look: fit() has found that it fits.
  float safe_ratio() const { return safe_ratio_; }

  Exponents exponents;
  bool known = false;  ///< exponents are those of an earlier pass

 private:
  float safe_ratio_ = -1, safe_energy_ = -1;  ///< the largest that have been found to fit
};

/// E begins at 1.5 x 2^21 in units of the force, as in the paper, where no force is too large for that; in scaled units
/// it is 1.5 x 2^48.
constexpr int large_exponent = 48 - 21;

}  // namespace quadrille::md
