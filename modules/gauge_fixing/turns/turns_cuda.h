// The entry points of the device code of this module (turns_cuda.cu), as the host's code calls them.
#pragma once

#include "core/gauge/around/grouped_links.h"
#include "modules/gauge_fixing/turns/kernels.h"

namespace quadrille::gauge_fixing {

// Work on the sites of this rank, asked for on the backend's stream. `g` has one matrix a site, on the torus of the
// links.

void launch_start(const GroupedLinks& g);
/// Waits for sums[0..3), which are overwritten.
void relax_sites(const GroupedLinks& links, const GroupedLinks& g, const Relaxation& relaxation, double* sums);
/// Overwrites the links of this rank's sites in `to`, on the torus of `links`.
void launch_transformation(const GroupedLinks& links, const GroupedLinks& g, const GroupedLinks& to);

}  // namespace quadrille::gauge_fixing
