// The entry points of the device code of this module (lines_cuda.cu), as the host's code calls them.
#pragma once

#include "core/gauge/around/grouped_links.h"

namespace quadrille::loops {

// Steps of lines on the sites of this rank (kernels.h says what each makes), asked for on the backend's stream. All
// fields are on one torus, and all but `links` have one matrix a site.

void launch_copy(const GroupedLinks& links, int mu, const GroupedLinks& to);
void launch_copy_ahead(const GroupedLinks& links, int mu, int nu, const GroupedLinks& to);
void launch_shift(const GroupedLinks& from, int mu, const GroupedLinks& to);
void launch_extension(const GroupedLinks& links, const GroupedLinks& line, int mu, const GroupedLinks& to);
/// Waits for the sum, which is overwritten.
void lift_edges(const GroupedLinks& links, const GroupedLinks& edge, const GroupedLinks& side, const GroupedLinks& line,
                int nu, const GroupedLinks& to, double* sum);
/// Waits for the sums[0..2), which are overwritten.
void sum_traces(const GroupedLinks& line, double* sums);

}  // namespace quadrille::loops
