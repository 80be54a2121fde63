#define QUADRILLE_ISA one_lane
#define QUADRILLE_SCALAR_LANES
#include "tests/core/numbers/accumulators_cases.h"
