// The JSON Schema of job files, for editors and other programs.
#pragma once

#include "core/parameters/parameters.h"

#include <nlohmann/json.hpp>

namespace quadrille {

/// A JSON Schema (2020-12) of job files: types, ranges, defaults, what excludes or needs what. What it accepts may
/// still be wrong in what only `quadrille check` sees: names of earlier tasks, files, sums of numbers.
nlohmann::ordered_json job_schema();
/// The JSON Schema of the words of one table.
nlohmann::ordered_json words_schema(const ParameterTable& table);

}  // namespace quadrille
