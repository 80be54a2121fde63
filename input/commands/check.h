// `quadrille check`: is this job right?
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace quadrille {

/// Validates a job, that the files it reads are there and fit it, and that what it writes into its default output
/// folder replaces none of them, and that `backend` can do its tasks (none when empty: it may run on any); writes one
/// line for each error to `err`, and one line to `out` when there is none. Changes nothing, but loads the shared
/// objects `allowed` that the job names. Gives the exit status 0 or 1; throws WrongCall for `--set`.
int check(const std::string& job, const std::vector<std::string>& overrides, const std::vector<std::string>& allowed,
          const std::string& backend, std::ostream& out, std::ostream& err);

/// "quadrille: error: WHAT", on one line.
void print_error(std::ostream& err, const std::string& what);

}  // namespace quadrille
