#include "core/system/csv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

namespace quadrille {
namespace {

std::string text_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string cell(const nlohmann::ordered_json& value) {
  if (value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()))) return {};
  return value.is_string() ? text_cell(value.get<std::string>()) : value.dump();
}

}  // namespace

std::string csv_of_rows(const nlohmann::ordered_json& rows) {
  std::string out;
  for (const auto& row : rows) {
    std::vector<std::string> names, cells;
    for (const auto& [name, value] : row.items()) {
      names.push_back(text_cell(name));
      cells.push_back(cell(value));
    }
    if (out.empty()) out = fmt::format("{}\n", fmt::join(names, ","));
    out += fmt::format("{}\n", fmt::join(cells, ","));
  }
  return out;
}

}  // namespace quadrille
