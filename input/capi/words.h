// Words of a host, as parameters: the same reading as that of a job.
#pragma once

#include "core/error.h"
#include "core/gauge/foreign_links.h"
#include "core/parameters/parameters.h"

#include <memory>
#include <string>
#include <vector>

namespace quadrille::capi {

/// {backend, threads}: quadrille_context_create; and those with `grid` and `place`: quadrille_context_create_mpi.
const ParameterTable& context_table();
const ParameterTable& rank_context_table();
/// LINKS of quadrille.h; with the extents of a field that is made (from), and without.
const ParameterTable& new_links_table();
const ParameterTable& links_table();
/// CLOVER of quadrille.h.
const ParameterTable& clover_table();
/// SPINORS of quadrille.h; and those with `system` and `initial_guess`.
const ParameterTable& spinors_table();
const ParameterTable& solve_table();

/// Throws the errors, unless there are none, as one with the code of the first: a line each, in the order of their
/// places.
void demand_none(std::vector<Error> errors);

/// Of the words lexicographic, even_odd, odd_even.
SiteOrder site_order(const std::string& name);

/// `words` against a table or one of the blocks of a job (input/job/blocks.h). Null and "" are {}. Throws one
/// ErrorCode::invalid_input that holds every mistake, a line each, with its place: "operator:1:16: unknown key
/// 'masss'".
std::shared_ptr<const Parameters> read_words(const ParameterTable& table, const char* words, const char* name);
std::shared_ptr<const Parameters> read_words(const Parameter& block, const char* words);

}  // namespace quadrille::capi
