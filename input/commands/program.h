// The program `quadrille`: its command line.
#pragma once

#include "core/api.h"
#include "core/comm/ranks.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace quadrille {

/// Runs one command. Exit status: 0 done; 1 an error (one line each on standard error); 2 a usage error; 3 a solve that
/// did not converge. When MPI has started it, on all ranks together (input/commands/rank_program.h).
QUADRILLE_API int run_program(int argc, char** argv);

/// The same with the streams given, as one of several ranks or alone (null); `words` are the arguments after the
/// program's name.
int run_program(const std::vector<std::string>& words, std::ostream& out, std::ostream& err, Ranks* ranks = nullptr);

}  // namespace quadrille
