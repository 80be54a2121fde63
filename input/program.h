// The program `quadrille`: its command line.
#pragma once

#include "core/api.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace quadrille {

/// Runs one command. Exit status: 0 done; 1 an error (one line each on standard error); 2 a usage error; 3 a solve that
/// did not converge.
QUADRILLE_API int run_program(int argc, char** argv);

/// The same with the streams given; `words` are the arguments after the program's name.
int run_program(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace quadrille
