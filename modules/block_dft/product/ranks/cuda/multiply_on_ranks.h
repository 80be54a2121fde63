// Products of device matrices on a grid of ranks: the Cannon layer of device_cannon.h around the phases of multiply().
#pragma once

#include "modules/block_dft/device.h"

namespace quadrille::block_dft {

/// multiply() of device.h for matrices on a grid, whose arguments have been looked at. Collective.
MultiplyReport multiply_on_ranks(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                 const DeviceMatrix& b, double beta, DeviceMatrix& c, const MultiplyOptions& options);

}  // namespace quadrille::block_dft
