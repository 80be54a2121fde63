// The entry points of the device code of this module (steps_cuda.cu), as the host's code calls them.
#pragma once

#include "core/gauge/around/grouped_links.h"
#include "modules/flow/steps/kernels.h"

namespace quadrille::flow {

/// Asks for a stage: the links of this rank's sites are written to `to`, on the same torus as `from`; of y,
/// [parity][direction][8][site of this rank], all are overwritten.
void launch_stage(const GroupedLinks& from, const GroupedLinks& to, const Stage& stage, double* y);
/// The same for a step of APE smearing.
void launch_projection(const GroupedLinks& from, const GroupedLinks& to, const Projection& projection);

/// The fields that a level of HYP smearing reads (HypFields::before).
struct GroupedBefore {
  GroupedLinks fields[4];
};
/// The same for a level of HYP smearing of the links `from`.
void launch_hyp_level(const GroupedLinks& from, const GroupedBefore& before, const GroupedLinks& to,
                      const HypLevel& level);

}  // namespace quadrille::flow
