// The places of the blocks of a panel of a matrix.
#pragma once

#include "modules/block_dft/product/cuda/pieces.h"

namespace quadrille::block_dft {

/// Makes `part` what `all` has in some rows and columns; part.blocks and part.numbers say how much that is. Its numbers
/// are not set, and those of `all` need not be there.
void set_places(const DeviceMatrix::Data& all, BlockRange rows, BlockRange columns, DeviceMatrix::Data& part);

}  // namespace quadrille::block_dft
