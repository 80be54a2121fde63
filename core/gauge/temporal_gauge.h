// Temporal gauge fixing: a gauge in which almost all time links are the unit matrix and need not be loaded.
#pragma once

#include "core/field.h"
#include "core/host_field.h"
#include "core/lattice.h"

#include <deque>
#include <mutex>
#include <vector>

namespace quadrille {

/// The transformation g with g(x, t=0) = 1 and g(x, t+1) = g(x, t) U_t(x, t), so that
/// U'_mu(x) = g(x) U_mu(x) g(x+mu)^+ has U'_t(x, t) = 1 for all t but the last, whose link carries the Polyakov loop.
///
/// Each product is projected back onto SU(3), so g is unitary to rounding even when the links are only unitary to
/// single precision; the time links are then set to exactly 1 all the same (the gauge-fixed operator is an inner one).
/// Needs the whole of t on one rank (ErrorCode::unsupported otherwise).
class TemporalGauge {
 public:
  TemporalGauge(const Lattice& lattice, const HostLinks& links);

  /// The links in the new gauge.
  HostLinks fixed(const HostLinks& links) const;
  /// dst = g src, and dst = g^+ src, for spinor fields of one subset and backend in any two precisions: a conversion
  /// and the rotation in one pass. dst is overwritten and may be src itself.
  void transform(Field& dst, const Field& src) const { rotate(dst, src, false); }
  void restore(Field& dst, const Field& src) const { rotate(dst, src, true); }
  /// Puts g where fields of this backend are rotated; else their first rotation does.
  void prepare(Backend& backend) const { matrices_on(backend); }
  /// g(x) of a lexicographic site: [row][column].
  const Complex* matrix(std::int64_t site) const { return matrices_.data() + site * 9; }

 private:
  void rotate(Field& dst, const Field& src, bool adjoint) const;
  /// g as a field of one link a site, made at the first call for a backend.
  const Field& matrices_on(Backend& backend) const;

  const Lattice* lattice_;
  std::vector<Complex> matrices_;
  mutable std::mutex mutex_;
  mutable std::deque<Field> fields_;
};

/// U'_mu(x) = g(x) U_mu(x) g(x+mu)^+ for any transformation g, [site][row][column], lexicographic.
HostLinks gauge_transformed(const Lattice& lattice, const HostLinks& links, const std::vector<Complex>& g);
/// psi'(x) = g(x) psi(x).
HostSpinor gauge_transformed(const HostSpinor& psi, const std::vector<Complex>& g);

}  // namespace quadrille
