#include "input/program.h"

namespace quadrille {

int run_program(int, char**) { return 2; }

}  // namespace quadrille
