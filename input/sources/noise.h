// Stochastic sources on a time slice.
#pragma once

#include "input/sources/registry.h"

namespace quadrille {

SourceEntry noise_source();

}  // namespace quadrille
