#include "core/gauge/around/grouped_field.h"

namespace quadrille {

GroupedField::GroupedField(const GaugeStore& links)
    : field_(FieldDesc::links(links.lattice(), Precision::Double, Reconstruct::R18, links.backend())) {
  links.copy_to(field_);
  if (links.lattice().communicator().size() > 1) halo_.emplace(field_);
  around_ = grouped_links(halo_ ? halo_->field() : field_, links.lattice());
}

GroupedField::GroupedField(const Lattice& lattice, Backend& backend)
    : field_(FieldDesc::of(site_formats::matrix, lattice, Subset::Full, Precision::Double, backend)) {
  if (lattice.communicator().size() > 1) halo_.emplace(field_);
  around_ = grouped_links(halo_ ? halo_->field() : field_, lattice);
}

const Field& GroupedField::field() const {
  if (halo_) halo_->copy_back();
  return field_;
}

void GroupedField::exchange() {
  if (halo_) halo_->exchange_all();
}

void GroupedField::exchange(int parity) {
  if (halo_) halo_->exchange(0, Parity(parity));
}

}  // namespace quadrille
