// What the choice of a form needs to know of a product on a GPU. Host arithmetic only.
#pragma once

#include "modules/mgemm/choice/choice.h"

namespace quadrille::mgemm {

/// choose() for a GPU: all forms, or that of the options, with sums of several lengths.
MgemmReport choose_on_device(const AnalysedProduct& product, Known known, const Cutoff& cutoff,
                             const MgemmOptions& options);

/// Errors: ErrorCode::unsupported for an automatic cutoff with the assurance measured: products on a GPU are not
/// sampled.
void require_no_sample(const Cutoff& cutoff);

}  // namespace quadrille::mgemm
