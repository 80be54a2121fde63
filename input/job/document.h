// What tables and resolved parameters look like to a reader: JSON echo, JSON Schema, help text.
#pragma once

#include "core/parameters/parameters.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

/// The resolved parameters, defaults filled in, as a map that would be valid in a job.
nlohmann::ordered_json to_json(const Parameters& parameters);

/// A JSON Schema (2020-12) of job files.
nlohmann::ordered_json job_schema();
/// The JSON Schema of the words of one table.
nlohmann::ordered_json words_schema(const ParameterTable& table);

/// Help on a part of a job: {} lists the blocks; {"gauge"}, {"operator"}, {"operator", "wilson"}, {"solver", "cg"},
/// {"task", "propagator"}, {"source", "point"}, {"solver", "cg", "sloppy"}. Throws ErrorCode::invalid_input, naming
/// what there is, for anything else. Any other word of a table finds its place (input/job/help_search.h): {"kappa"}.
std::string help_text(const std::vector<std::string>& words);

/// The same of one parameter: its help and, of a group, its members.
std::string parameter_help(const Parameter& parameter);
/// Its name, form, range and default, and its help: a line or two, indented by two.
std::string parameter_line(const Parameter& parameter);

}  // namespace quadrille
