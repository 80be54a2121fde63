// Fits to the averaged correlators of several configurations.
#pragma once

#include "input/ensemble/averages.h"
#include "input/job/job.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

/// Appends to `errors`, at their places, fits of `ensemble.fits` that cannot be made of `configurations` configurations
/// with `extent` times: a window that is not within 0 ... T/2 or has too few points, a covariance of too few bins, two
/// fits of one name.
void check_fits(const Job& job, int extent, std::size_t configurations, std::vector<Error>& errors);

/// One of `fits` below, of rows that begin at the source: `asked` is an entry of `ensemble.fits`. Null, with the reason
/// in `why`, where chi^2 has no minimum; without errors of the fit `why` says so. Errors: ErrorCode::invalid_input for
/// a window beyond the rows, or for too few points or bins; those of CoshFitter.
nlohmann::ordered_json fit_of_rows(const Parameters& asked, const Measurements& rows, std::size_t bin,
                                   std::string& why);

/// `fits` of results.json, of what `ensemble.fits` asks for: by name correlator, states, window, correlated,
/// configurations, chi2, dof, chi2_per_dof, masses and amplitudes [{value, error}], the lightest state first. Errors
/// are those of the jackknife over the bins of `rules`, each sample fitted with the covariance of all. What cannot be
/// fitted is null, with a reason in `warnings`.
nlohmann::ordered_json fits(const Job& job, const std::vector<nlohmann::ordered_json>& results,
                            const AverageRules& rules, std::vector<std::string>& warnings);

}  // namespace quadrille
