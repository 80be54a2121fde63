// Sources from files of propagators.
#pragma once

#include "input/sources/registry.h"

namespace quadrille {

SourceEntry file_source();

}  // namespace quadrille
