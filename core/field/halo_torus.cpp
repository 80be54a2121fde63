#include "core/field/halo_torus.h"

#include "core/error.h"
#include "core/layout/vector_layout.h"

#include <fmt/format.h>

namespace quadrille {
namespace {

Divided divided(const Lattice& lattice) {
  const Communicator& ranks = lattice.communicator();
  return {ranks.splits(0), ranks.splits(1), ranks.splits(2), ranks.splits(3)};
}

Dims torus_of(const Field& field, int depth) {
  if (field.desc().subset != Subset::Full || depth < 1)
    throw Error(ErrorCode::internal,
                fmt::format("a halo of depth {}: a full field and a depth of 1 or more are needed", depth));
  const Dims& own = field.lattice().dims();
  const Divided split = divided(field.lattice());
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (split[mu] && own[mu] < depth) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("a halo of depth {} needs as many sites of each rank; in direction {} it has {}: divide "
                              "the lattice over fewer ranks there",
                              depth, "xyzt"[mu], own[mu]));
    }
  }
  const Dims torus = torus_around(own, split, depth);
  extents_of(torus);  // refuses what is too large
  return torus;
}

FieldDesc on(const Lattice& torus, FieldDesc desc) {
  desc.lattice = &torus;
  if (!desc.layout.grouped() && !VectorLayout::fits(torus.dims(), desc.layout.lanes))
    desc.layout = desc.backend->layout(torus, desc.precision);
  return desc;
}

void copy_own(const Field& to, const Field& from, const Dims& own, int sections) {
  const auto copy = QUADRILLE_OF_BACKEND(to.desc().backend->name(), copy_own_sites);
  for (int section = 0; section < sections; ++section) {
    for (const Parity p : {Parity::Even, Parity::Odd})
      copy(section_of(to, section, p), section_of(from, section, p), extents_of(own), int(p));
  }
}

}  // namespace

HaloTorus::HaloTorus(Field& field, int depth)
    : field_(field), torus_(torus_of(field, depth)), torus_field_(on(torus_, field.desc())) {
  const Lattice& lattice = field.lattice();
  const auto make = QUADRILLE_OF_BACKEND(field.desc().backend->name(), make_layer_exchange);
  const std::size_t section_bytes = std::size_t(field.desc().section()) * number_bytes(field.desc().precision);
  for (const GhostAxis& layers : ghost_axes(lattice.dims(), divided(lattice), depth)) {
    numbers_.push_back(make(lattice.communicator(), layers, section_bytes));
    if (field.desc().has_norms()) norms_.push_back(make(lattice.communicator(), layers, sizeof(float)));
  }
  copy_in();
  exchange_all();
}

int HaloTorus::sections() const { return field_.desc().site.sections + (field_.desc().has_norms() ? 1 : 0); }

void HaloTorus::exchange(int section, Parity p) {
  const SiteSection of = section_of(torus_field_, section, p);
  for (const auto& layers : section == field_.desc().site.sections ? norms_ : numbers_) layers->run(of, int(p));
}

void HaloTorus::exchange_all() {
  for (int section = 0; section < sections(); ++section) {
    for (const Parity p : {Parity::Even, Parity::Odd}) exchange(section, p);
  }
}

void HaloTorus::copy_in() { copy_own(torus_field_, field_, field_.lattice().dims(), sections()); }

void HaloTorus::copy_back() const { copy_own(field_, torus_field_, field_.lattice().dims(), sections()); }

}  // namespace quadrille
