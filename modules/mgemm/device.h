// Products on a GPU. In builds with CUDA alone: see with_cuda() in core/backend/of_backend.h.
#pragma once

#include "core/api.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/mgemm.h"

#include <cstdint>

namespace quadrille::mgemm {

/// mgemm() with A, B and C in the memory of the CUDA backend (Backend::allocate, or any memory of its device); asked
/// for on the backend's stream and done when Backend::synchronize returns. Waits for what the choice needs, so that the
/// report is whole, and while the first product of integers of about its size is tuned. The memory cap is of what is
/// taken besides A, B and C, the sums of the analysis (20 bytes for 256 elements) and the lists of large elements.
/// Errors: those of check_arguments; ErrorCode::numerical where the analysis meets an element of A or B that is not
/// finite; C is as it was then. Products that are too small, and those for which a sample of the elements promises no
/// gain, are not analysed: what is not finite passes into C there, as an element of C does when beta != 0, and the
/// bound of the report is infinite.
QUADRILLE_API MgemmReport mgemm_on_device(const Gemm<double>& gemm, const Cutoff& cutoff,
                                          const MgemmOptions& options = {});

/// What mgemm() with the CUDA backend calls: operands in the memory of the host, arguments checked.
QUADRILLE_API MgemmReport mgemm_through_device(const Gemm<double>& gemm, const Cutoff& cutoff,
                                               const MgemmOptions& options);

/// The same for cleaver(): panels or strips pass through the device's memory while those before are multiplied.
/// The operands are checked and finite. memory_cap: bytes of the device's memory; 0: what is free.
template <class T>
QUADRILLE_API CleaverReport multiply_panels_on_device(const Operands<T>& operands, std::int64_t memory_cap);

}  // namespace quadrille::mgemm
