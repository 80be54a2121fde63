// A point source: 1 in one spin and color at one site.
#pragma once

#include "input/sources/registry.h"

namespace quadrille {

SourceEntry point_source();

/// ErrorCode::invalid_input with the place of `site` when it is not on the lattice.
void check_site(const Parameters& source, const Dims& dims);
/// b = 1 in one spin and color at `site`.
void make_point(const Parameters& source, Field& b, int spin, int color);

}  // namespace quadrille
