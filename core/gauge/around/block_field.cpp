#include "core/gauge/around/block_field.h"

namespace quadrille {

BlockField::BlockField(const GaugeStore& links)
    : field_(FieldDesc::links(links.lattice(), Precision::Double, Reconstruct::R18, links.backend())) {
  links.copy_to(field_);
  if (links.lattice().communicator().size() > 1) halo_.emplace(field_, staple_halo());
  tables_.emplace(field_, halo_ ? &*halo_ : nullptr);
}

BlockField::BlockField(const Lattice& lattice, Backend& backend)
    : field_(FieldDesc::of(site_formats::matrix, lattice, Subset::Full, Precision::Double, backend)) {
  if (lattice.communicator().size() > 1) halo_.emplace(field_, std::vector<SectionHalo>(1));
  tables_.emplace(field_, halo_ ? &*halo_ : nullptr);
}

void BlockField::exchange() {
  if (halo_) halo_->exchange_all();
}

void BlockField::exchange(int parity) {
  if (!halo_) return;
  halo_->start(0, Parity(parity));
  halo_->next_step();
  halo_->finish();
}

}  // namespace quadrille
