#define QUADRILLE_ISA generic
#define QUADRILLE_ISA_BYTES 16
#include "tests/core/accumulators_cases.h"
