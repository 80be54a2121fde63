// Any word of the tables finds its place: `quadrille help kappa`.
#pragma once

#include "core/parameters/parameters.h"

#include <string>
#include <vector>

namespace quadrille {

/// Where a word occurs in `topics` (help_topics() of input/job/document.h): the help of an operator, solver, source or
/// task of that name, each parameter of that name or with that value, a benchmark. Several words are one name
/// ("solver study"), or the last of them is sought in what the others name ("operator kappa"). Empty when there is
/// none.
std::string help_search(const std::vector<Parameter>& topics, const std::vector<std::string>& words);

/// Of a term of lattice QCD that no table has: "'clover' is not implemented in this version; ...". Empty for any other
/// words.
std::string not_there_yet(const std::vector<Parameter>& topics, const std::vector<std::string>& words);

/// The terms that not_there_yet() knows.
std::vector<std::string> terms_not_there_yet();

/// The name in the tables, or of a benchmark, that is nearest to `word` (see nearest_name).
std::string nearest_in_tables(const std::vector<Parameter>& topics, const std::string& word);

}  // namespace quadrille
