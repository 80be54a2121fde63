// Sequential sources: a hadron at the sink without one of its quarks.
#pragma once

#include "input/sources/registry.h"

namespace quadrille {

SourceEntry sequential_source();

}  // namespace quadrille
