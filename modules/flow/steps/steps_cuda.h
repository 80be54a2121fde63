// The entry point of the device code of this module (steps_cuda.cu), as the host's code calls it.
#pragma once

#include "core/gauge/around/grouped_links.h"
#include "modules/flow/steps/kernels.h"

namespace quadrille::flow {

/// Asks for a stage: the links of this rank's sites are written to `to`, on the same torus as `from`; of y,
/// [parity][direction][8][site of this rank], all are overwritten.
void launch_stage(const GroupedLinks& from, const GroupedLinks& to, const Stage& stage, double* y);

}  // namespace quadrille::flow
