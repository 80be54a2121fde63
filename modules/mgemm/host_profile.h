// What the choice of a form on a device needs to know of a factor, from its elements in the host's memory.
#pragma once

#include "modules/mgemm/form_bound.h"

#include "core/dense/dense_view.h"

#include <vector>

namespace quadrille::mgemm {

/// Of a factor whose lines are the rows of `lines`, for rising cutoffs. Where more than the fraction `listed_fraction`
/// of its elements are above the first, that is the only one in the profile.
FactorProfile profile_on_host(DenseView<const double> lines, double max_abs, const std::vector<double>& deltas,
                              double listed_fraction);

}  // namespace quadrille::mgemm
