// A wall source: 1 in one spin and color at all sites of a time slice.
#pragma once

#include "input/sources/registry.h"

namespace quadrille {

SourceEntry wall_source();

}  // namespace quadrille
