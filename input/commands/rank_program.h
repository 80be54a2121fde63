// The program on several ranks: one voice, one exit status, and an end for all when one of them fails.
#pragma once

#include "core/comm/ranks.h"

#include <string>
#include <vector>

namespace quadrille {

/// run_program() on every rank, which must all be of one build and have the same words. Standard output, the log and
/// warnings are rank 0's. Of ranks that fail the lowest with a message of its own says it, with its number and host.
/// When some have failed and others do not end within seconds, those that failed end them. Gives the exit status, the
/// largest of all ranks'.
int run_on_ranks(Ranks& ranks, const std::vector<std::string>& words);

}  // namespace quadrille
