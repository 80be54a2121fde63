// The rows of a solver study: one combination of mass, tolerance, method, scheme, inner operator and delta each.
#pragma once

#include "solvers/driver.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

/// What the solves of one combination did, one report a source.
struct StudyRow {
  double mass = 0;
  double kappa = 0;
  std::string method;  ///< with the parameters that were given: "gcr restart_length 32"
  SolverSpec spec;
  double setup_seconds = 0;  ///< making the operators in their forms, once for all sources
  std::vector<SolveReport> reports;
};

/// The rows as flat JSON objects, all with the same keys. Numbers of solves are means over the sources, but for
/// `residual` (the worst true one) and iterations_min and _max. Relative to the row of scheme uniform with the same
/// mass, tolerance and method: `iteration_ratio` and `speedup` (of mean seconds); relative to the fastest uniform row
/// of any method: `speedup_best`. Null where one of the two did not converge or is not there.
nlohmann::ordered_json study_json(const std::vector<StudyRow>& rows);

/// Mean over the sources, restarts included.
double mean_iterations(const StudyRow& row);
/// Of these, relative to uniform double: the column `iteration_ratio`.
nlohmann::ordered_json iteration_ratio(const StudyRow& row, const std::vector<StudyRow>& rows);

/// What names a row, and `points`: [iteration, iterated residual, true residual or null] of the first source, relative
/// to |b|.
nlohmann::ordered_json study_history(const StudyRow& row);

/// Of a long history about 500 entries stay, among them all with a true residual.
void thin_history(std::vector<HistoryEntry>& history);

/// What a row's solves did, for a run that was interrupted, and back: the rest of a row is known from the job. Of the
/// histories only that of the first source is kept.
nlohmann::ordered_json solved_json(const StudyRow& row);
void restore_solved(StudyRow& row, const nlohmann::ordered_json& solved);

/// "bicgstab reliable half 12 temporal gauge, delta 0.1, mass -0.8" for logs and warnings.
std::string row_name(const StudyRow& row);

}  // namespace quadrille
