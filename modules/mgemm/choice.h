// Which form a product takes: the cutoff, the length of sums in single precision, and whether to split at all.
#pragma once

#include "modules/mgemm/mgemm.h"

namespace quadrille::mgemm {

/// Fills in everything of the report but `panel_bytes`: one pass over A and B, or none when the product is too small.
/// max_a and max_b are the largest magnitudes of the operands' a and b.
MgemmReport choose_form(const Operands<double>& operands, double max_a, double max_b, const Cutoff& cutoff,
                        const MgemmOptions& options);

}  // namespace quadrille::mgemm
