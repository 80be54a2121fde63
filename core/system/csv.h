// Rows of a study as comma-separated values.
#pragma once

#include "core/api.h"

#include <nlohmann/json.hpp>

#include <string>

namespace quadrille {

/// A line of names and a line for each of `rows`, flat JSON objects with the same keys. Null and numbers that are not
/// finite are empty cells; other numbers are written as in JSON; texts that need it stand in quotes (RFC 4180).
QUADRILLE_API std::string csv_of_rows(const nlohmann::ordered_json& rows);

/// What a row has where a number may be missing: null then.
inline nlohmann::ordered_json known(bool is_known, double value) {
  return is_known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace quadrille
