#define QUADRILLE_ISA one_lane
#define QUADRILLE_SCALAR_LANES
#include "tests/core/accumulators_cases.h"
