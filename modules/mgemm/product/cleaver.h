// Matrix products of any size through a limited memory: C = alpha op(A) op(B) + beta C, panel by panel.
#pragma once

#include "core/api.h"
#include "modules/mgemm/product/arguments.h"
#include "modules/mgemm/product/blas.h"
#include "modules/shared/dense/panel_plan.h"

namespace quadrille {
class Backend;
}

namespace quadrille::mgemm {

struct CleaverOptions {
  std::int64_t memory_cap = 0;  ///< bytes that the staged panels may take; 0: the product is done in place
  /// Who multiplies: the CPU where null; with the CUDA backend panels pass through the memory of the device, and the
  /// cap is of that (0: what is free).
  Backend* backend = nullptr;
  Pause pause = {};  ///< on the CPU
};

struct CleaverReport {
  std::int64_t panel_bytes = 0;   ///< taken by the panels; 0: done in place
  std::int64_t steps = 0;         ///< products of panels
  std::int64_t staged_bytes = 0;  ///< copied into the panels and out of them
};

/// The dense products are OpenBLAS's, each by one thread, shared out to as many threads as OpenMP would use: their
/// number does not enter the result. beta = 0 does not read C, and alpha = 0 or k = 0 neither A nor B. T is double or
/// float. Errors: those of check_arguments, check_numbers and plan_panels; C is as it was then.
template <class T>
QUADRILLE_API CleaverReport cleaver(const Gemm<T>& gemm, const CleaverOptions& options = {});

/// The same for operands that are checked and finite.
template <class T>
QUADRILLE_API CleaverReport multiply_panels(const Operands<T>& operands, std::int64_t memory_cap,
                                            const Pause& pause = {});

}  // namespace quadrille::mgemm
