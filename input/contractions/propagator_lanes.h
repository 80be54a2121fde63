// A propagator at the sites of one block, for files that are compiled once for each instruction set.
#pragma once

#include "core/field/spin_basis.h"
#include "core/simd/simd.h"
#include "input/contractions/plane_sums.h"

namespace quadrille {
inline namespace QUADRILLE_ISA {

constexpr int column_numbers = 24, block_numbers = 12 * column_numbers;

/// to[column][sink component][re, im][lane] in the DeGrand-Rossi basis: column and component are 3 spin + color.
template <int lanes>
QUADRILLE_INLINE void load_block(double* to, const PropagatorBlocks& from, int parity, std::int64_t block) {
  using Numbers = simd::Vec<double, lanes>;
  using simd::DoubleStorage;
  using simd::load;
  using simd::store;
  constexpr int spin = 6 * lanes;  // numbers of a spin
  for (int column = 0; column < 12; ++column, to += column_numbers * lanes) {
    const double* in = from.columns[parity][column] + block * column_numbers * lanes;
    if (!from.rotate) {
      for (int n = 0; n < column_numbers * lanes; n += lanes)
        store<double, lanes>(to + n, load<DoubleStorage, lanes>(in + n));
      continue;
    }
    for (int n = 0; n < spin; n += lanes) {  // spin_basis::to_degrand_rossi
      const Numbers n0 = load<DoubleStorage, lanes>(in + n), n1 = load<DoubleStorage, lanes>(in + spin + n);
      const Numbers n2 = load<DoubleStorage, lanes>(in + 2 * spin + n),
                    n3 = load<DoubleStorage, lanes>(in + 3 * spin + n);
      store<double, lanes>(to + n, -spin_basis::factor * (n1 + n3));
      store<double, lanes>(to + spin + n, spin_basis::factor * (n0 + n2));
      store<double, lanes>(to + 2 * spin + n, spin_basis::factor * (n3 - n1));
      store<double, lanes>(to + 3 * spin + n, spin_basis::factor * (n0 - n2));
    }
  }
}

}  // namespace QUADRILLE_ISA
}  // namespace quadrille
