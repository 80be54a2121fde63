// Updates of V independent SU(3) links in given surroundings: the weight of a link U is exp(scale Re tr(U A)), where A
// is the sum of its staples.
//
// Both updates multiply U from the left by matrices of the SU(2) subgroups of rows (0,1), (0,2) and (1,2), in this
// order (Cabibbo and Marinari, Phys. Lett. B 119 (1982) 387). With W = U A and R = k v, v in SU(2), the part of the
// subgroup's 2x2 block of W that has the form r0 + i sum_k r_k sigma_k, the weight of g U is exp(2 scale k a0), where
// a = g v. The heatbath draws a, and overrelaxation takes g = v^+ v^+, which leaves a0 as it was (Creutz, Phys. Rev. D
// 36 (1987) 515; Brown and Woch, Phys. Rev. Lett. 58 (1987) 2394).
//
// Matrices are those of core/gauge/link_lanes.h, subgroups those of core/gauge/su2_lanes.h. For files compiled once per
// instruction set, or for one lane (core/simd/lanes.h).
#pragma once

#include "core/gauge/su2_lanes.h"
#include "modules/quenched/updates/su2_draw.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

using namespace link_lanes;

/// g = a v^+ with a drawn.
template <class T, int V>
struct Heatbath {
  T scale;               ///< the weight of a link is exp(scale Re tr(U A))
  std::uint64_t seed;    ///< of the sweep
  std::uint32_t stream;  ///< random_stream() of the direction: subgroups take this and the next two
  DrawCounts<T, V>* counts;

  QUADRILLE_INLINE Quaternion<T, V> operator()(const Quaternion<T, V>& r, int subgroup,
                                               const std::int64_t* sites) const {
    const Real<T, V> size2 = square<T, V>(r);
    const Mask<T, V> none = size2 < smallest_square<T>, directed = size2 >= smallest_square<T>;
    // A lane that is not a number stays that; one without direction has alpha = 0.
    const Real<T, V> zero{}, one = zero + T(1);
    const Real<T, V> size = simd::sqrt<T, V>(none ? zero : size2);
    const simd::LaneRandom<T, V> random(seed, stream + (std::uint32_t(subgroup) << 8), sites);
    const Quaternion<T, V> drawn = draw_su2<T, V>(scale * size, random, *counts);
    const Real<T, V>* a = drawn.a;
    const Real<T, V> inverse = simd::reciprocal<T, V>(directed ? size : one);
    const Real<T, V> v0 = directed ? r.a[0] * inverse : one, v1 = directed ? r.a[1] * inverse : zero;
    const Real<T, V> v2 = directed ? r.a[2] * inverse : zero, v3 = directed ? r.a[3] * inverse : zero;
    return {{a[0] * v0 + a[1] * v1 + a[2] * v2 + a[3] * v3, v0 * a[1] - a[0] * v1 + a[2] * v3 - a[3] * v2,
             v0 * a[2] - a[0] * v2 + a[3] * v1 - a[1] * v3, v0 * a[3] - a[0] * v3 + a[1] * v2 - a[2] * v1}};
  }
};

/// g = v^+ v^+.
template <class T, int V>
struct Overrelaxation {
  QUADRILLE_INLINE Quaternion<T, V> operator()(const Quaternion<T, V>& r, int, const std::int64_t*) const {
    const Real<T, V> size2 = square<T, V>(r);
    const Mask<T, V> none = size2 < smallest_square<T>;
    const Real<T, V> one = Real<T, V>{} + T(1);
    const Real<T, V> inverse = simd::reciprocal<T, V>(none ? one : size2);
    const Real<T, V> twice = T(-2) * r.a[0] * inverse;
    const Real<T, V> g0 = -twice * r.a[0] - T(1);
    return {{none ? one : g0, twice * r.a[1], twice * r.a[2], twice * r.a[3]}};
  }
};

/// Replaces the links u; `staples` is A.
template <class T, int V, class Update>
QUADRILLE_INLINE void update_link(Real<T, V>* u, const Real<T, V>* staples, const Update& update,
                                  const std::int64_t* sites) {
  Real<T, V> w[18];
  multiply<T, V>(w, u, staples);
  QUADRILLE_UNROLL
  for (int subgroup = 0; subgroup < 3; ++subgroup) {
    const int i = subgroup == 2 ? 1 : 0, j = subgroup == 0 ? 1 : 2;
    const Quaternion<T, V> g = update(subgroup_part<T, V>(w, i, j), subgroup, sites);
    rotate_rows<T, V>(u, g, i, j);
    if (subgroup < 2) rotate_rows<T, V>(w, g, i, j);
  }
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
