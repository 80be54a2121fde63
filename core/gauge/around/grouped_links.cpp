#include "core/gauge/around/grouped_links.h"

#include "core/field/field.h"
#include "core/layout/site_layers.h"

namespace quadrille {

GroupedLinks grouped_links(Field& links, const Lattice& part) {
  const Dims &torus = links.lattice().dims(), &own = part.dims(), &global = part.global_dims(), &begin = part.origin();
  extents_of(torus);  // refuses what is too large
  GroupedLinks all{};
  all.links[0] = links.numbers(Parity::Even);
  all.links[1] = links.numbers(Parity::Odd);
  all.precision = links.desc().precision;
  all.reconstruct = links.desc().reconstruct;
  all.x = torus[0];
  all.y = torus[1];
  all.z = torus[2];
  all.t = torus[3];
  all.own = extents_of(own);
  all.whole = {global[0], global[1], global[2], global[3], 0};
  all.origin.x = begin[0];
  all.origin.y = begin[1];
  all.origin.z = begin[2];
  all.origin.t = begin[3];
  return all;
}

}  // namespace quadrille
