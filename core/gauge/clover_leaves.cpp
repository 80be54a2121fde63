#include "core/gauge/clover_leaves.h"

#include "core/gauge/face_exchange.h"
#include "core/gauge/work/link_work.h"

#include <array>
#include <numbers>

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
  form(plane_, mu, nu);
  return plane_;
}

void CloverLeaves::form(Field& plane, int mu, int nu) {
  const LinkView links = view_of(links_), to = view_of(plane), scratch = view_of(scratch_);
  FaceExchange faces(links_.lattice(), *links_.desc().backend);
  const LinkEdges edges = faces.beyond(links, 4);
  link_work(*links_.desc().backend).plaquettes(to, links, edges, mu, nu);
  faces.add_transported(scratch, to, links, mu);
  faces.add_transported(to, scratch, links, nu);
}

FieldStrengths FieldStrengths::of(const GaugeStore& gauge) {
  CloverLeaves leaves(gauge);
  Field other(field_of(gauge, one_matrix));
  // Planes at right angles to each other, with the sign of eps.
  struct Pair {
    int mu, nu, rho, sigma, sign;
  };
  std::array<double, 2> sums{};
  for (const Pair& pair : {Pair{0, 1, 2, 3, 1}, Pair{0, 2, 1, 3, -1}, Pair{0, 3, 1, 2, 1}}) {
    leaves.form(leaves.plane_, pair.mu, pair.nu);
    leaves.form(other, pair.rho, pair.sigma);
    const std::array<double, 3> found =
        link_work(gauge.backend()).strength_sums(view_of(leaves.plane_), view_of(other));
    sums[0] += found[0] + found[1];
    sums[1] += pair.sign * found[2];
  }
  gauge.lattice().communicator().sum(sums.data(), sums.size());
  return {sums[0], sums[1] * (8 / (32 * std::numbers::pi * std::numbers::pi))};
}

}  // namespace quadrille
