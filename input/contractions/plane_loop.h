// The loop over one plane of blocks: for files that are compiled once for each instruction set.
#pragma once

#include "core/simd/simd.h"
#include "input/contractions/plane_sums.h"

namespace quadrille {
inline namespace QUADRILLE_ISA {

/// to[n] += phase * from[n] for complex numbers [n][re, im][lane].
template <int lanes>
QUADRILLE_INLINE void add_with_phase(double* to, const double* phase, const double* from, int count) {
  using Numbers = simd::Vec<double, lanes>;
  using simd::DoubleStorage;
  const Numbers c = simd::broadcast<double, lanes>(phase[0]), s = simd::broadcast<double, lanes>(phase[1]);
  for (int n = 0; n < count; ++n) {
    double* const place = to + 2 * n * lanes;
    const Numbers re = simd::load<DoubleStorage, lanes>(from + 2 * n * lanes);
    const Numbers im = simd::load<DoubleStorage, lanes>(from + (2 * n + 1) * lanes);
    simd::store<double, lanes>(place, simd::load<DoubleStorage, lanes>(place) + c * re - s * im);
    simd::store<double, lanes>(place + lanes, simd::load<DoubleStorage, lanes>(place + lanes) + c * im + s * re);
  }
}

/// Calls contract(out, parity, block) for each block of the plane, which overwrites the outputs [output][re, im][lane]
/// of its sites, and sums them.
template <int lanes, class Contract>
QUADRILLE_INLINE void sum_plane(const Plane& plane, Contract&& contract) {
  const int *const extents = plane.extents, set = 2 * plane.outputs * lanes;
  const PlanePhases& phases = *plane.phases;
  double *const out = plane.scratch, *const over_x = out + set, *const over_y = over_x + phases.along_x * set;
  const auto clear = [set](double* sums, int sets) {
    for (int n = 0; n < sets * set; ++n) sums[n] = 0;
  };
  clear(over_y, phases.along_xy);
  for (int y = 0; y < extents[1]; ++y) {
    clear(over_x, phases.along_x);
    const std::int64_t row = ((std::int64_t(plane.t) * extents[2] + plane.z) * extents[1] + y) * extents[0];
    for (int x = 0; x < extents[0]; ++x) {
      contract(out, (x + y + plane.z + plane.t) & 1, (row + x) / 2);
      for (int n = 0; n < phases.along_x; ++n)
        add_with_phase<lanes>(over_x + n * set, phases.x + 2 * (n * extents[0] + x), out, plane.outputs);
    }
    for (int n = 0; n < phases.along_xy; ++n)
      add_with_phase<lanes>(over_y + n * set, phases.y + 2 * (n * extents[1] + y), over_x + phases.x_of[n] * set,
                            plane.outputs);
  }
  clear(plane.sums, phases.momenta);
  for (int n = 0; n < phases.momenta; ++n)
    add_with_phase<lanes>(plane.sums + n * set, phases.z + 2 * (n * extents[2] + plane.z),
                          over_y + phases.xy_of[n] * set, plane.outputs);
}

}  // namespace QUADRILLE_ISA
}  // namespace quadrille
