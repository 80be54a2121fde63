// Multigrid on a GPU. In builds with CUDA alone: see with_cuda() in core/backend/of_backend.h.
#pragma once

#include "solvers/multigrid/short_gcr.h"
#include "solvers/multigrid/stencil.h"
#include "solvers/multigrid/transfer.h"

#include <cstdint>
#include <memory>

namespace quadrille::multigrid {

/// As make_transfer(), of fields on a GPU.
std::unique_ptr<Transfer> make_device_transfer(std::shared_ptr<const Aggregates> aggregates, const FieldDesc& fine,
                                               int vectors);
/// As make_stencil(). `vectors` of 56 at most, as the inverse of a site's matrix is made in shared memory.
std::unique_ptr<Stencil> make_device_stencil(const FieldDesc& coarse);
/// As make_inner_solver(), of coarse fields on a GPU in single precision and one parity; up to 64 directions.
std::unique_ptr<InnerSolver> make_device_gcr(const LinearOperator& a, const LinearOperator* k, int directions,
                                             double tolerance);
/// As fill_with_noise() of multigrid.cpp, with other numbers.
void fill_with_noise_on_device(Field& x, std::uint64_t seed);

}  // namespace quadrille::multigrid
