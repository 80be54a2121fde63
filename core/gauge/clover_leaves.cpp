#include "core/gauge/clover_leaves.h"

#include "core/gauge/face_exchange.h"
#include "core/gauge/work/link_work.h"

namespace quadrille {
namespace {

constexpr std::uint8_t one_matrix = 1;

Field field_of(const GaugeStore& gauge, std::uint8_t directions) {
  return Field(FieldDesc::links(gauge.lattice(), Precision::Double, Reconstruct::R18, gauge.backend(), directions));
}

}  // namespace

CloverLeaves::CloverLeaves(const GaugeStore& gauge)
    : links_(field_of(gauge, hops::forward)),
      plane_(field_of(gauge, one_matrix)),
      scratch_(field_of(gauge, one_matrix)) {
  gauge.copy_to(links_);
}

const Field& CloverLeaves::plane(int mu, int nu) {
  const LinkView links = view_of(links_), plane = view_of(plane_), scratch = view_of(scratch_);
  FaceExchange faces(links_.lattice(), *links_.desc().backend);
  const LinkEdges edges = faces.beyond(links, 4);
  link_work(*links_.desc().backend).plaquettes(plane, links, edges, mu, nu);
  faces.add_transported(scratch, plane, links, mu);
  faces.add_transported(plane, scratch, links, nu);
  return plane_;
}

}  // namespace quadrille
