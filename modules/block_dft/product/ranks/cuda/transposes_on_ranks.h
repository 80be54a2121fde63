// Device matrices on a grid of ranks in other forms: blocks that change their places come to their owners. Collective.
#pragma once

#include "modules/block_dft/device.h"

namespace quadrille::block_dft {

/// transposed() of a matrix without symmetry, or an antisymmetric one.
DeviceMatrix transposed_on_ranks(const DeviceMatrix& a);
/// without_symmetry() of a matrix with one.
DeviceMatrix without_symmetry_on_ranks(const DeviceMatrix& a);
/// with_symmetry() of a matrix with another one.
DeviceMatrix with_symmetry_on_ranks(const DeviceMatrix& a, Symmetry symmetry);

}  // namespace quadrille::block_dft
