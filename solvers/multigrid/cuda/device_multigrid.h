// Multigrid on a GPU. In builds with CUDA alone: see with_cuda() in core/backend/of_backend.h.
#pragma once

#include "solvers/multigrid/short_gcr.h"
#include "solvers/multigrid/stencil.h"
#include "solvers/multigrid/transfer.h"

#include <cstdint>
#include <memory>

namespace quadrille::multigrid {

constexpr int most_device_directions = 64;  ///< of an inner solve

/// As make_transfer(), of fields on a GPU.
std::unique_ptr<Transfer> make_device_transfer(std::shared_ptr<const Aggregates> aggregates, const FieldDesc& fine,
                                               int vectors);
/// What multigrid on the current GPU can do: `vectors` of a level at most, as the inverse of a site's matrix is made in
/// shared memory, and directions of an inner solve.
struct DeviceLimits {
  int vectors, directions;
};
DeviceLimits device_limits();
/// As make_stencil(). ErrorCode::unsupported for more vectors than device_limits() has.
std::unique_ptr<Stencil> make_device_stencil(const FieldDesc& coarse);
/// As make_inner_solver(), of coarse fields on a GPU in single precision and one parity; of more directions than
/// device_limits() has so many.
std::unique_ptr<InnerSolver> make_device_gcr(const LinearOperator& a, const LinearOperator* k, int directions,
                                             double tolerance);
/// As fill_with_noise() of multigrid.cpp, with other numbers.
void fill_with_noise_on_device(Field& x, std::uint64_t seed);

}  // namespace quadrille::multigrid
