// Temporal gauge fixing: a gauge in which almost all time links are the unit matrix and need not be loaded.
#pragma once

#include "core/field/field.h"
#include "core/gauge/link_view.h"
#include "core/layout/lattice.h"

namespace quadrille {

/// The transformation g with g(x, t=0) = 1 and g(x, t+1) = g(x, t) U_t(x, t), so that
/// U'_mu(x) = g(x) U_mu(x) g(x+mu)^+ has U'_t(x, t) = 1 for all t but the last, whose link carries the Polyakov loop.
///
/// Each product is projected back onto SU(3), so g is unitary to rounding even when the links are only unitary to
/// single precision; the time links are then set to exactly 1 all the same (the gauge-fixed operator is an inner one).
/// Over ranks that divide t each waits for the one before it: the same bits on every grid.
class TemporalGauge {
 public:
  /// Without a transformation yet.
  TemporalGauge(const Lattice& lattice, Backend& backend);

  /// Finds the transformation of these links, of the same lattice and backend. Errors: ErrorCode::numerical for a time
  /// link that is singular or not finite. Collective.
  void make(const LinkView& links);
  /// g as a field of one link a site, that of hop 0.
  const Field& matrices() const { return matrices_; }

  /// dst = g src, and dst = g^+ src, for spinor fields of one subset in any two precisions: a conversion and the
  /// rotation in one pass. dst is overwritten and may be src itself.
  void transform(Field& dst, const Field& src) const { rotate(dst, src, false); }
  void restore(Field& dst, const Field& src) const { rotate(dst, src, true); }

 private:
  void rotate(Field& dst, const Field& src, bool adjoint) const;

  Field matrices_;
};

}  // namespace quadrille
