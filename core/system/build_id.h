// What this library is built from.
#pragma once

#include "core/api.h"

namespace quadrille {

/// The commit as `git describe --tags --always --dirty` has it, with "-dirty" when sources were changed since; the
/// version where the sources are no work tree of git. Builds of two different programs may share it: two that are
/// dirty, or of other compilers and options.
QUADRILLE_API const char* build_id();

}  // namespace quadrille
