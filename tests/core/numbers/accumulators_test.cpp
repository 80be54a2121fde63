#define QUADRILLE_ISA generic
#define QUADRILLE_ISA_BYTES 16
#include "tests/core/numbers/accumulators_cases.h"
