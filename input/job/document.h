// What tables and resolved parameters look like to a reader: JSON echo, help text.
#pragma once

#include "core/parameters/parameters.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

/// The resolved parameters, defaults filled in, as a map that would be valid in a job.
nlohmann::ordered_json to_json(const Parameters& parameters);

/// A choice, which is a number in JSON where it looks like a whole one ("reconstruct": 12).
nlohmann::ordered_json choice_json(const std::string& text);

/// The values of a parameter: "real number, > 0, in 1/a".
std::string value_text(const Parameter& parameter);
/// What else must be given: "; only with start: hot or weak"; empty where nothing must.
std::string conditions_text(const Parameter& parameter);

/// The parts of a job that have help, in its order: gauge, ensemble, operator, solver, task, source.
std::vector<Parameter> help_topics();

/// Help on a part of a job: {} lists the blocks; {"gauge"}, {"operator"}, {"operator", "wilson"}, {"solver", "cg"},
/// {"task", "propagator"}, {"source", "point"}, {"solver", "cg", "sloppy"}. Throws ErrorCode::invalid_input, naming
/// what there is, for anything else. Any other word of a table finds its place (input/job/help_search.h): {"kappa"}.
std::string help_text(const std::vector<std::string>& words);

/// The same of one parameter: its help and, of a group, its members.
std::string parameter_help(const Parameter& parameter);
/// Its name, form, range and default, and its help: a line or two, indented by two.
std::string parameter_line(const Parameter& parameter);

}  // namespace quadrille
