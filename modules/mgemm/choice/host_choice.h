// What the choice of a form needs to know of a product on the CPU.
#pragma once

#include "modules/mgemm/choice/choice.h"
#include "modules/mgemm/product/arguments.h"

namespace quadrille::mgemm {

/// Profiles of finite operands in the host's memory: for a given cutoff, or for those that an automatic one is chosen
/// from. `most`: the largest magnitudes of the operands' a and b.
AnalysedProduct analyse_on_host(const Operands<double>& operands, const LargestMagnitudes& most, const Cutoff& cutoff);

/// choose() for the CPU: one pass over A and B, or none when the product is too small.
MgemmReport choose_on_host(const Operands<double>& operands, const LargestMagnitudes& most, const Cutoff& cutoff,
                           const MgemmOptions& options);

}  // namespace quadrille::mgemm
