// How studies report: rows in a table of results.json and in a CSV file.
#pragma once

#include "core/comm/agreement.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "modules/shared/plugin/task.h"

#include <nlohmann/json.hpp>

#include <string>

namespace quadrille {

/// Writes `rows` into the output `csv`, and under `block` of results.json {csv, what `about` says of all rows, rows}.
/// Collective.
inline void report_study(const TaskContext& context, const std::string& block, const nlohmann::ordered_json& about,
                         const nlohmann::ordered_json& rows) {
  const std::string file = context.output_file("csv");
  on_first_rank(context.ranks(), [&] { write_file(file, csv_of_rows(rows)); });
  nlohmann::ordered_json out = {{"csv", context.text("csv")}};
  out.update(about);
  out["rows"] = rows;
  context.result_in(block, out.dump());
}

}  // namespace quadrille
