// Steps along lines of links, on V lanes: what CPUs and devices share. `Links` finds the four links of the sites around
// (core/gauge/around/staples.h), `One` a field of one matrix a site.
#pragma once

#include "core/gauge/link_lanes.h"

namespace quadrille::loops::inline QUADRILLE_ISA {

using namespace link_lanes;

/// out = U_mu(x) L(x + mu): the line from x, longer by a link.
template <class T, int V, class Links, class One>
QUADRILLE_INLINE void extended_line(Real<T, V>* out, const Links& links, const One& line, int mu) {
  Real<T, V> link[18], next[18];
  multiply<T, V>(out, links.here(mu, link), line.shifted(mu, 0, next));
}

/// out = U_nu(x) B(x + nu) S(x)^+, the upper edge of a loop raised by a link of either side; gives Re tr(out L(x)^+),
/// the loop.
template <class T, int V, class Links, class One>
QUADRILLE_INLINE Real<T, V> lifted_edge(Real<T, V>* out, const Links& links, const One& edge, const One& side,
                                        const One& line, int nu) {
  Real<T, V> first[18], second[18], product[18];
  multiply<T, V>(product, links.here(nu, first), edge.shifted(nu, 0, second));
  QUADRILLE_UNROLL
  for (int n = 0; n < 18; ++n) out[n] = Real<T, V>{};
  add_times_adjoint<T, V>(out, product, side.here(0, first));
  return real_trace_adjoint<T, V>(out, line.here(0, second));
}

}  // namespace quadrille::loops::inline QUADRILLE_ISA
