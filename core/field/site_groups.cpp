#include "core/field/site_groups.h"

#include "core/layout/grouped_layout.h"
#include "core/layout/site_layers.h"
#include "core/layout/vector_layout.h"

namespace quadrille {
namespace {

bool is_norms(const FieldDesc& desc, int section) { return section == desc.site.sections; }

}  // namespace

SiteSection section_of(const Field& field, int section, Parity p) {
  const FieldDesc& desc = field.desc();
  const Layout& layout = desc.layout;
  const std::int32_t* const slots =
      layout.grouped() ? nullptr : field.lattice().vector_layout(layout.lanes).slots(p).data();
  const int together = layout.sites_together();
  const int number = int(number_bytes(desc.precision));
  SiteSection of{{nullptr, slots, together, 0, 0, 0}, extents_of(field.lattice().dims())};
  SiteGroups& groups = of.groups;
  if (is_norms(desc, section)) {
    groups.first = reinterpret_cast<std::byte*>(const_cast<float*>(field.norms(p)));
    groups.site_bytes = groups.group_bytes = int(sizeof(float));
    groups.block_bytes = std::int64_t(together) * groups.site_bytes;
  } else {
    groups.first = static_cast<std::byte*>(const_cast<void*>(field.section(p, section)));
    groups.site_bytes = desc.section() * number;
    groups.group_bytes = layout.grouped() ? group_bytes : number;
    groups.block_bytes = std::int64_t(together) * desc.components() * number;
  }
  return of;
}

}  // namespace quadrille
