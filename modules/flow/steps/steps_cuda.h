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

/// The four fields of a level (level_fields.h).
struct GroupedLevel {
  GroupedLinks fields[4];
};
/// The same for a level of HYP smearing of the links `from`.
void launch_hyp_level(const GroupedLinks& from, const GroupedLevel& before, const GroupedLinks& to,
                      const HypLevel& level);

/// `to` = staple_beside() of the links (rectangles.h), in the plane of each other direction and nu.
void launch_staples(const GroupedLinks& from, const GroupedLinks& to, int nu, bool behind);
/// launch_stage() with the sides of rectangles.
void launch_stage_with_rectangles(const GroupedLinks& from, const GroupedLevel& ahead, const GroupedLevel& behind,
                                  const GroupedLinks& to, const Stage& stage, double* y);

}  // namespace quadrille::flow
