// A point source: 1 in one spin and color at one site.
#pragma once

#include "input/sources/registry.h"

namespace quadrille {

SourceEntry point_source();

}  // namespace quadrille
