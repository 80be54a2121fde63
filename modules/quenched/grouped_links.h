// Links in double precision in the grouped layout (core/layout/grouped_layout.h), as device code reads them.
#pragma once

namespace quadrille::quenched {

/// A group of the layout: a complex number, moved whole.
struct alignas(16) LinkElement {
  double re, im;
};

struct GroupedLinks {
  LinkElement* elements[2];  ///< by parity
  int x, y, z, t;            ///< extents
  int sites;                 ///< of a parity
};

}  // namespace quadrille::quenched
