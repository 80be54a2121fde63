// What a backend does with spinors and propagators in its own memory.
//
// The work on a site is in core/field/site_transfer.h, foreign_spinors.h and propagator_sites.h, once for all backends;
// a backend brings the loops (spinor_work_cpu.cpp, core/backend/cuda/spinor_work.cpp).
#pragma once

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/field/field.h"
#include "core/field/foreign_spinors.h"
#include "core/field/propagator.h"

#include <cstdint>
#include <vector>

namespace quadrille {

/// Fields and arrays are in the backend's memory. Calls that give nothing back may return before their work is done; it
/// is done in the order of the calls.
class SpinorWork {
 public:
  virtual ~SpinorWork() = default;

  /// dst = src, fields of any format of one lattice and subset in any two precisions. dst is overwritten.
  virtual void convert(Field& dst, const Field& src) const = 0;
  /// dst(x) = g(x) src(x), or g(x)^+ src(x): `g` is a field of one link a site in double with 18 numbers.
  virtual void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) const = 0;
  /// Writes the 24 numbers of one site of a spinor field, in the internal basis.
  virtual void put_site(Field& dst, Parity p, std::int64_t site, const double* numbers) const = 0;
  /// From and to an array, for a field in double; all sites that it holds are overwritten.
  virtual void read(Field& dst, const ForeignSpinors& src) const = 0;
  virtual void write(const ForeignSpinors& dst, const Field& src) const = 0;
  /// As the functions of core/field/propagator.h.
  virtual void pack_sites(void* bytes, const PropagatorPiece& piece) const = 0;
  virtual void unpack_sites(const PropagatorPiece& piece, const void* bytes) const = 0;
  virtual std::vector<double> slice_norms(const Propagator& propagator) const = 0;
};

/// ErrorCode::unsupported for a backend that has none.
QUADRILLE_API const SpinorWork& spinor_work(const Backend& backend);

QUADRILLE_DECLARE_FOR_BACKENDS(const SpinorWork&, spinor_work, ())

}  // namespace quadrille
