#include "core/gauge/link_view.h"

#include "core/error.h"
#include "core/layout/vector_layout.h"

#include <bit>

namespace quadrille {

LinkView view_of(const Field& links) { return view_of(links, links); }

LinkView view_of(const Field& spatial, const Field& time) {
  const FieldDesc &s = spatial.desc(), &t = time.desc();
  if (!s.holds_links() || !t.holds_links() || s.lattice != t.lattice || s.backend != t.backend ||
      s.precision != t.precision || s.reconstruct != t.reconstruct || !(s.layout == t.layout)) {
    throw Error(ErrorCode::internal, "a view of links: the fields differ in kind, lattice, backend or form");
  }
  const Dims& dims = s.lattice->dims();
  LinkView view{};
  view.extents = {dims[0], dims[1], dims[2], dims[3], int(s.lattice->half_volume())};
  view.precision = s.precision;
  view.reconstruct = s.reconstruct;
  const Field* fields[] = {&spatial, &time};
  for (int f = 0; f < 2; ++f) {
    const unsigned directions = fields[f]->desc().directions;
    view.stored[f] = std::popcount(directions);
    for (int hop = f == 0 ? 0 : 6; hop < (f == 0 ? 6 : 8); ++hop) {
      const bool held = (directions >> hop & 1u) != 0;
      view.index[hop] = static_cast<signed char>(held ? std::popcount(directions & ((1u << hop) - 1)) : -1);
    }
    for (Parity p : {Parity::Even, Parity::Odd}) {
      view.numbers[f][int(p)] = const_cast<void*>(fields[f]->numbers(p));
    }
  }
  view.block_t = dims[3];
  if (s.layout.grouped()) return view;
  const VectorLayout& layout = s.lattice->vector_layout(s.layout.lanes);
  view.lanes = layout.lanes();
  view.block_t = layout.block_dims()[3];
  for (Parity p : {Parity::Even, Parity::Odd}) {
    view.slots[int(p)] = layout.slots(p).data();
    view.sites[int(p)] = layout.sites(p).data();
  }
  return view;
}

}  // namespace quadrille
