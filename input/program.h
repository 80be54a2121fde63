// The program `quadrille`: its command line.
#pragma once

#include "core/api.h"

namespace quadrille {

/// Runs one command. Exit status: 0 done; 1 an error (one line on standard error); 2 a wrong call; 3 a solve that did
/// not converge.
QUADRILLE_API int run_program(int argc, char** argv);

}  // namespace quadrille
