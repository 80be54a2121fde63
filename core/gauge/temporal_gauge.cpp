#include "core/gauge/temporal_gauge.h"

#include "core/error.h"
#include "core/field/spinor_work.h"
#include "core/gauge/face_exchange.h"

namespace quadrille {
namespace {

constexpr std::uint8_t one_link = 1;

}  // namespace

TemporalGauge::TemporalGauge(const Lattice& lattice, Backend& backend)
    : matrices_(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, backend, one_link)) {}

void TemporalGauge::make(const LinkView& links) {
  if (FaceExchange(matrices_.lattice(), *matrices_.desc().backend).fix_time(view_of(matrices_), links)) return;
  throw Error(ErrorCode::numerical, "temporal gauge fixing found a time link that is singular or not finite");
}

void TemporalGauge::rotate(Field& dst, const Field& src, bool adjoint) const {
  const FieldDesc &d = dst.desc(), &s = src.desc(), &g = matrices_.desc();
  if (d.lattice != g.lattice || s.lattice != g.lattice || d.subset != s.subset || d.backend != g.backend ||
      s.backend != g.backend || d.site != site_formats::spinor || s.site != site_formats::spinor) {
    throw Error(ErrorCode::internal, "temporal gauge: the fields differ in lattice, subset, backend or kind");
  }
  spinor_work(*d.backend).rotate(dst, src, matrices_, adjoint);
}

}  // namespace quadrille
